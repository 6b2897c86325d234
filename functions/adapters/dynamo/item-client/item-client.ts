import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { AwsJson1_0Protocol } from '@aws-sdk/core/protocols';
import { HttpRequest } from '@smithy/core/protocols';
import { getSchemaSerdePlugin } from '@smithy/core/schema';

type Serialize = Parameters<AwsJson1_0Protocol['serializeRequest']>;
type Deserialize = Parameters<AwsJson1_0Protocol['deserializeResponse']>;

/**
 * Skips the SDK's conversion of each attribute by its schema: the output of `marshall` is already the JSON of the wire.
 * Does not encode binary attributes or read timestamps. Without the schema, the SDK does not generate a transaction's
 * `ClientRequestToken`.
 */
class ItemProtocol extends AwsJson1_0Protocol {
  /** Without bodies, by operation: path and headers are the same in each call. */
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

type Data = string | ArrayBuffer | ArrayBufferView;

const secretKeys = new Map<string, KeyObject>();
/** The SDK caches a derived key, so the same object comes again. */
const derivedKeys = new WeakMap<object, KeyObject>();

const maxCachedSecrets = 50;

/** For the SDK's option `sha256`. Unlike the SDK's own class, it caches key objects, and accepts only one `update`. */
export class SigningDigest {
  readonly digestLength = 32;
  readonly #key: KeyObject | undefined;
  #data: string | Uint8Array = '';

  constructor(secret?: Data) {
    this.#key = secret === undefined ? undefined : keyOf(secret);
  }

  update(data: Data): void {
    if (this.#data.length > 0) throw new Error('SigningDigest accepts only one update');
    this.#data = plain(data);
  }

  async digest(): Promise<Uint8Array> {
    if (this.#key === undefined) return hash('sha256', this.#data, 'buffer');
    return createHmac('sha256', this.#key).update(this.#data).digest();
  }

  reset(): void {
    this.#data = '';
  }
}

function keyOf(secret: Data): KeyObject {
  const known = typeof secret === 'string' ? secretKeys.get(secret) : derivedKeys.get(secret);
  if (known !== undefined) return known;
  const key = createSecretKey(Buffer.from(plain(secret) as Uint8Array));
  if (typeof secret !== 'string') derivedKeys.set(secret, key);
  else {
    if (secretKeys.size === maxCachedSecrets) secretKeys.clear();
    secretKeys.set(secret, key);
  }
  return key;
}

function plain(data: Data): string | Uint8Array {
  if (typeof data === 'string' || data instanceof Uint8Array) return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

/** Only for operations on items: see `ItemProtocol`. */
export const itemClientSettings = {
  cacheMiddleware: true,
  protocol: ItemProtocol,
  sha256: SigningDigest,
} as const;

/**
 * Middleware that only costs time here: for a logger that is not set, for the trace header against recursive calls, and
 * for the user agent.
 */
export const unusedMiddleware = [
  'loggerMiddleware',
  'recursionDetectionMiddleware',
  'getUserAgentMiddleware',
];

/**
 * Makes calls of the client cheaper. They share a signer: the SDK would make one for each call. The config becomes a
 * copy: the SDK copies it for each call, and V8 copies a copy faster.
 */
export function optimizedClient(client: DynamoDBClient): DynamoDBClient {
  for (const name of unusedMiddleware) client.middlewareStack.remove(name);
  const makeSigner = client.config.signer;
  let signer: ReturnType<typeof makeSigner> | undefined;
  client.config.signer = (authScheme) => {
    if (signer === undefined) {
      signer = makeSigner(authScheme);
      signer.catch(() => {
        signer = undefined;
      });
    }
    return signer;
  };
  Object.assign(client, { config: { ...client.config } });
  client.middlewareStack.use(getSchemaSerdePlugin(client.config));
  return client;
}
