import { operatorCredentials } from '../iam/operator-credentials.ts';

/** Calls an operation of a service that speaks AWS's JSON protocol; `target` is, for example, AmazonSQS.SendMessage. */
export async function callAwsJson<Output>(
  endpoint: string,
  target: string,
  input: object,
  accessKeyId: string = operatorCredentials.accessKeyId,
): Promise<Output> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': target,
      // The engines of a run look at the access key alone.
      Authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/runner, SignedHeaders=host, Signature=none`,
    },
    body: JSON.stringify(input),
  });
  const body = (await response.json()) as Output & { message?: string; Message?: string };
  if (response.ok) return body;
  throw new Error(`${target}: ${body.message ?? body.Message ?? response.status}`);
}
