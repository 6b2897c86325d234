import type { Readable } from 'node:stream';
import { AwsJson1_0Protocol } from '@aws-sdk/core/protocols';
import { HttpRequest } from '@smithy/core/protocols';

type Serialize = Parameters<AwsJson1_0Protocol['serializeRequest']>;
type Deserialize = Parameters<AwsJson1_0Protocol['deserializeResponse']>;

/**
 * DynamoDB's protocol for operations on items. The output of `marshall` is already the JSON of the wire, so this class
 * skips the SDK's conversion of every attribute by its schema, in both directions.
 * Limits: no binary attributes, no operations whose responses contain timestamps. The caller must set a transaction's
 * `ClientRequestToken`, because without the schema the SDK does not generate it.
 */
export class ItemProtocol extends AwsJson1_0Protocol {
  /** Requests without a body, cached by operation: path and headers are the same in each call. */
  readonly #requests = new Map<string, Awaited<ReturnType<AwsJson1_0Protocol['serializeRequest']>>>();

  override async serializeRequest<Input extends object>(
    operation: Serialize[0],
    input: Input,
    context: Serialize[2],
  ): ReturnType<AwsJson1_0Protocol['serializeRequest']> {
    let empty = this.#requests.get(operation.name);
    if (empty === undefined) {
      empty = await super.serializeRequest(operation, {}, context);
      this.#requests.set(operation.name, empty);
    }
    return new HttpRequest({ ...empty, headers: { ...empty.headers }, body: JSON.stringify(input) });
  }

  override async deserializeResponse<Output>(
    operation: Deserialize[0],
    context: Deserialize[1],
    response: Deserialize[2],
  ): Promise<Output> {
    const text = await textOf(response.body);
    if (!this.isErrorResponse(response.statusCode))
      return { ...JSON.parse(text), $metadata: this.deserializeMetadata(response) };
    response.body = Buffer.from(text);
    return super.deserializeResponse(operation, context, response) as Promise<never>;
  }
}

function textOf(body: Readable): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  body.setEncoding('utf8');
  body.on('data', (chunk: string) => {
    text += chunk;
  });
  body.once('end', () => resolve(text));
  body.once('error', reject);
  body.once('close', () => {
    if (!body.readableEnded) reject(new Error('The connection was closed within a response'));
  });
  return promise;
}
