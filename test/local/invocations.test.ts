import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { expect, it } from 'vitest';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startFixture } from './fixture/start-fixture.ts';

const run = closeAfterTests(await startFixture());
const client = new LambdaClient({
  endpoint: run.endpoints.lambda,
  region: 'us-east-1',
  credentials: operatorCredentials,
});
await run.act({ do: 'count' });
const name =
  run.workers().find(({ functionName }) => /-Act[0-9A-F]{8}$/.test(functionName))?.functionName ?? '';

const invoke = async (FunctionName: string, query: Record<string, string>) => {
  const Payload = JSON.stringify({ queryStringParameters: query });
  const response = await client.send(new InvokeCommand({ FunctionName, Payload }));
  return { ...response, said: JSON.parse(response.Payload?.transformToString() ?? '') as unknown };
};

it('is answered with what the function returns, by name and by ARN', async () => {
  for (const reference of [name, `arn:aws:lambda:us-east-1:000000000000:function:${name}`]) {
    const response = await invoke(reference, { do: 'count' });
    expect(response).toMatchObject({ StatusCode: 200, ExecutedVersion: '$LATEST' });
    expect(response.FunctionError).toBeUndefined();
    expect(response.said).toMatchObject({ statusCode: 200 });
  }
});

it('tells of a function that throws, and of one that takes too long', async () => {
  expect(await invoke(name, { do: 'throw' })).toMatchObject({
    FunctionError: 'Unhandled',
    said: { errorType: 'Error', errorMessage: 'this text stays inside' },
  });
  expect(await invoke(name, { do: 'hang' })).toMatchObject({
    FunctionError: 'Unhandled',
    said: { errorType: 'Sandbox.Timedout' },
  });
});

it('is reached by its aliases and versions, and by no other qualifier', async () => {
  const idOf = (start: string) =>
    Object.entries(run.physicalIds).find(([id]) => id.startsWith(start))?.[1] ?? 'none';
  const [alias, version] = [idOf('EchoLive'), idOf('EchoCurrentVersion')];
  expect([alias, version]).toEqual([expect.stringMatching(/:live$/), expect.stringMatching(/:1$/)]);
  for (const reference of [alias, version, alias.split(':').slice(6).join(':')])
    expect((await invoke(reference, {})).said).toMatchObject({ statusCode: 200 });
  await expect(invoke(alias.replace(':live', ':next'), {})).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
  });
});

it('says so when the function is not there', async () => {
  await expect(invoke('Nobody', {})).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
});
