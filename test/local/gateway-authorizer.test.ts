import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openCheckpoint } from './fixture/open-checkpoint.ts';
import { type FixtureRun, startFixture } from './fixture/start-fixture.ts';

const run = closeAfterTests(await startFixture());

const call = (path: string, word?: string, method = 'GET', on = run) =>
  on.fetch(path, { method, headers: word === undefined ? {} : { Authorization: word } });

const authorizerOf = async (response: Response) => {
  expect(response.status).toBe(200);
  const { event } = (await response.json()) as {
    event: { requestContext: { authorizer: Record<string, string> } };
  };
  return event.requestContext.authorizer;
};

describe('a request authorizer', () => {
  it('hands its context, as text, and the principal to the function', async () => {
    const authorizer = await authorizerOf(await call('fresh', 'somebody'));
    expect(authorizer).toMatchObject({ principalId: 'somebody', flag: 'true', type: 'REQUEST' });
    expect(authorizer.integrationLatency).toBeTypeOf('number');
  });

  it('is not asked when its identity source is missing or empty', async () => {
    const before = Number((await authorizerOf(await call('fresh', 'somebody'))).authorizations);
    for (const word of [undefined, '']) {
      const response = await call('fresh', word);
      expect(response.status).toBe(400);
      const body = (await response.json()) as Record<string, string>;
      expect(body).toEqual({
        text: 'Unauthorized',
        type: 'UNAUTHORIZED',
        id: response.headers.get('x-request-id'),
      });
      expect(body.id).toBe(response.headers.get('x-amzn-requestid'));
      expect(response.headers.get('x-fixed')).toBe('word');
    }
    const after = Number((await authorizerOf(await call('fresh', 'somebody'))).authorizations);
    expect(after).toBe(before + 1);
  });

  it('that throws Unauthorized gives the same answer as a missing identity', async () => {
    const response = await call('fresh', 'unknown');
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ text: 'Unauthorized' });
  });

  it('that throws anything else, or answers no policy, is a 500', async () => {
    for (const word of ['broken', 'malformed']) {
      const response = await call('fresh', word);
      expect(response.status).toBe(500);
      expect(await response.text()).not.toContain('database');
    }
  });

  it('that denies is a 403', async () => {
    const response = await call('fresh', 'deny');
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({
      message: 'User is not authorized to access this resource with an explicit deny',
    });
  });

  it('allows only what its policy names, also from the cache', async () => {
    expect((await call('echo/1', 'get-only')).status).toBe(200);
    const response = await call('echo/1', 'get-only', 'POST');
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ message: 'User is not authorized to access this resource' });
  });

  it('is asked once for an identity while its answer is cached, for all methods', async () => {
    const first = await authorizerOf(await call('echo/1', 'cached'));
    const repeated = await authorizerOf(await call('echo/2', 'cached', 'POST'));
    const other = await authorizerOf(await call('echo/2', 'another'));
    expect(repeated.authorizations).toBe(first.authorizations);
    expect(Number(other.authorizations)).toBe(Number(first.authorizations) + 1);
  });

  it('is asked every time without a cache', async () => {
    const first = await authorizerOf(await call('fresh', 'cached'));
    const repeated = await authorizerOf(await call('fresh', 'cached'));
    expect(Number(repeated.authorizations)).toBe(Number(first.authorizations) + 1);
  });

  it('guards streamed routes as well', async () => {
    expect((await call('stream', undefined, 'POST')).status).toBe(400);
    const response = await call('stream', 'somebody', 'POST');
    expect(await response.text()).toBe('onezwei-üthree');
  });
});

describe('an answer that is cached, when a table is written', () => {
  const table = async (on: FixtureRun, kind: 'read' | 'write') => {
    const client = new DynamoDBClient({
      endpoint: on.endpoints.dynamodb,
      region: 'us-east-1',
      credentials: operatorCredentials,
    });
    const Key = { pk: { S: 'operator' }, sk: { S: '1' } };
    const TableName = Object.entries(on.physicalIds).find(([id]) => id.startsWith('Items'))?.[1];
    if (kind === 'write') await client.send(new PutItemCommand({ TableName, Item: Key }));
    else await client.send(new GetItemCommand({ TableName, Key }));
    client.destroy();
  };
  const authorizationsAfter = async (on: FixtureRun, word: string) =>
    Number((await authorizerOf(await call('echo/1', word, 'GET', on))).authorizations);

  it('is kept, as in AWS', async () => {
    const first = await authorizationsAfter(run, 'kept');
    await table(run, 'write');
    expect(await authorizationsAfter(run, 'kept')).toBe(first);
  });

  describe('in a run with prompt authorizers', () => {
    let prompt: FixtureRun;
    beforeAll(async () => {
      prompt = await startFixture({ clearAuthorizerCacheOnWrite: true });
    });
    afterAll(() => prompt.close());

    it('is forgotten behind an operator’s write, and nobody else’s', async () => {
      const first = await authorizationsAfter(prompt, 'kept');
      await prompt.fetch('items/1', { method: 'PUT', body: 'from a function' });
      await table(prompt, 'read');
      expect(await authorizationsAfter(prompt, 'kept')).toBe(first);
      await table(prompt, 'write');
      expect(await authorizationsAfter(prompt, 'kept')).toBe(first + 1);
      expect(await authorizationsAfter(prompt, 'kept')).toBe(first + 1);
    });

    it('is not kept when it was asked for before the write and came behind it', async () => {
      const checkpoint = await openCheckpoint();
      const word = `${checkpoint.url}/authorizer`;
      const early = authorizationsAfter(prompt, word);
      await checkpoint.reached('authorizer');
      await table(prompt, 'write');
      checkpoint.release('authorizer');
      const first = await early;
      expect(await authorizationsAfter(prompt, word)).toBe(first + 1);
      expect(await authorizationsAfter(prompt, word)).toBe(first + 1);
      await checkpoint.close();
    });
  });
});
