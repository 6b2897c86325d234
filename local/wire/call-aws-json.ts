import { operatorCredentials } from '../iam/operator-credentials.ts';
import { authorizationOf, type Credentials } from '../iam/signature.ts';

/**
 * @param target such as `AmazonSQS.SendMessage`
 * @throws Error if the service responds with an error, or does not respond
 */
export async function callAwsJson<Output>(
  endpoint: string,
  target: string,
  input: object,
  credentials: Credentials = operatorCredentials,
): Promise<Output> {
  const text = JSON.stringify(input);
  const headers = {
    'content-type': 'application/x-amz-json-1.0',
    host: new URL(endpoint).host,
    'x-amz-date': new Date().toISOString().replaceAll(/[-:]|\.\d+/g, ''),
    'x-amz-target': target,
  };
  const authorization = authorizationOf({ method: 'POST', url: '/', headers }, text, credentials, {
    region: 'us-east-1',
    service: 'runner',
  });
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { ...headers, authorization },
    body: text,
  });
  const body = (await response.json()) as Output & { message?: string; Message?: string };
  if (response.ok) return body;
  throw new Error(`${target}: ${body.message ?? body.Message ?? response.status}`);
}
