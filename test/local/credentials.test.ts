import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import { authorizationOf, type Credentials } from '#local/iam/signature.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startBackground } from './fixture/start-background.ts';
import { startFixture } from './fixture/start-fixture.ts';

const runs = [closeAfterTests(await startFixture()), closeAfterTests(await startBackground())];
const endpoints = new Map<string, string>();
for (const run of runs)
  for (const [service, endpoint] of Object.entries(run.endpoints))
    if (endpoint !== '' && service !== 'gateway') endpoints.set(service, endpoint);

/** A request for an existing operation of each service, as the service's own clients send it. */
const requests: Record<string, { url?: string; method?: string; target?: string; input?: object }> = {
  dynamodb: { target: 'DynamoDB_20120810.ListTables' },
  secretsmanager: { target: 'secretsmanager.GetSecretValue', input: { SecretId: 'none' } },
  sqs: { target: 'AmazonSQS.ListQueues' },
  sfn: { target: 'AWSStepFunctions.DescribeExecution', input: { executionArn: 'none' } },
  kms: { target: 'TrentService.Encrypt', input: { KeyId: 'none', Plaintext: '' } },
  lambda: { url: '/2015-03-31/functions/none/invocations' },
  s3: { method: 'GET' },
};

async function send(service: string, credentials: Credentials, body?: string) {
  const endpoint = endpoints.get(service) ?? '';
  const { url = '/', method = 'POST', target, input = {} } = requests[service] ?? {};
  const signed = method === 'GET' ? '' : JSON.stringify(input);
  const headers = {
    'content-type': 'application/x-amz-json-1.0',
    host: new URL(endpoint).host,
    'x-amz-date': new Date().toISOString().replaceAll(/[-:]|\.\d+/g, ''),
    ...(target !== undefined && { 'x-amz-target': target }),
    ...(service === 's3' && {
      'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    }),
  };
  const scope = { region: 'us-east-1', service };
  const authorization = authorizationOf({ method, url, headers }, signed, credentials, scope);
  const response = await fetch(endpoint + url, {
    method,
    headers: { ...headers, authorization },
    ...(method !== 'GET' && { body: body ?? signed }),
  });
  return {
    status: response.status,
    text: `${response.headers.get('x-amzn-errortype')} ${await response.text()}`,
  };
}

const unknown = /UnrecognizedClientException|<Code>InvalidAccessKeyId</;
const forged = /InvalidSignatureException|<Code>SignatureDoesNotMatch</;

describe.each(Object.keys(requests))('the emulator of %s', (service) => {
  it('takes the operator’s credentials and no others', async () => {
    expect((await send(service, operatorCredentials)).text).not.toMatch(/denied|Unrecognized|Signature/i);
    for (const name of ['local', 'AKIA0000000000000000']) {
      const response = await send(service, { accessKeyId: name, secretAccessKey: 'local' });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.text).toMatch(unknown);
    }
    const response = await send(service, { ...operatorCredentials, secretAccessKey: 'another' });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.text).toMatch(forged);
  });

  it.runIf(service !== 's3')('takes no other body than the signed one', async () => {
    expect((await send(service, operatorCredentials, '{"more":true}')).text).toMatch(forged);
  });
});

it('credentials are drawn for each process', async () => {
  const { LOCAL_OPERATOR_CREDENTIALS: _, ...env } = process.env;
  const module = new URL('../../local/iam/operator-credentials.ts', import.meta.url).href;
  const script = `console.log(JSON.stringify((await import(${JSON.stringify(module)})).operatorCredentials))`;
  const draw = async () =>
    JSON.parse(
      (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env })).stdout,
    ) as Credentials;
  const [one, other] = await Promise.all([draw(), draw()]);
  expect(one.accessKeyId).toMatch(/^AKIA[0-9A-F]{16}$/);
  expect(one.secretAccessKey).toMatch(/^[\w-]{40}$/);
  expect(other.accessKeyId).not.toBe(one.accessKeyId);
  expect(other.secretAccessKey).not.toBe(one.secretAccessKey);
});
