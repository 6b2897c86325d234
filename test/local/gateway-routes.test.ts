import { request as httpRequest } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { readMock } from '#local/gateway/respond-mock.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startFixture } from './fixture/start-fixture.ts';

const run = closeAfterTests(await startFixture({ environment: { EXTRA: 'value' } }));

interface Echo {
  event: APIGatewayProxyEvent;
  context: Record<string, unknown>;
  remaining: number;
  environment: Record<string, string>;
}

const echo = async (path: string, init?: RequestInit): Promise<Echo> => {
  const response = await run.fetch(path, init);
  expect(response.status).toBe(200);
  return (await response.json()) as Echo;
};

describe('a route', () => {
  it('has its path parameters decoded', async () => {
    const { event } = await echo('open/a%20b/c%2Fd');
    expect(event.pathParameters).toEqual({ proxy: 'a b/c/d' });
    expect(event).toMatchObject({ resource: '/v1/open/{proxy+}', path: '/v1/open/a%20b/c%2Fd' });
  });

  it('with a fixed last part wins over a variable one', async () => {
    expect(await (await run.fetch('open/fixed?do=count')).json()).toHaveProperty('invocations');
  });

  it('is found by ANY for every method', async () => {
    const { event } = await echo('open/x', { method: 'DELETE' });
    expect(event.httpMethod).toBe('DELETE');
  });

  it.each(['/v1/nowhere', '/v1', '/v1/open', '/v1/echo/1/more'])(
    'that is not there is a 403: %s',
    async (path) => {
      const response = await fetch(run.url + path);
      expect(response.status).toBe(403);
      expect(await response.json()).toEqual({ message: 'Missing Authentication Token' });
      expect(response.headers.get('x-amzn-errortype')).toBe('MissingAuthenticationTokenException');
    },
  );

  it('of another method is a 403, and so is another stage', async () => {
    expect((await run.fetch('act', { method: 'POST' })).status).toBe(403);
    expect((await fetch(run.url.replace(/live$/, 'other/v1/act'))).status).toBe(403);
    expect((await fetch(`${run.url}ly/v1/act`)).status).toBe(403);
  });
});

describe('a mock integration', () => {
  const preflight = (headers: Record<string, string>) => run.fetch('act', { method: 'OPTIONS', headers });

  it.each([[{}], [{ 'Content-Type': 'application/json; charset=utf-8' }]])(
    'answers what the template says, without a function: %j',
    async (headers) => {
      const response = await preflight(headers);
      expect([response.status, await response.text()]).toEqual([204, '']);
      expect(response.headers.get('x-said')).toBe('this, and that');
      expect(response.headers.get('x-amzn-requestid')).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it('refuses a type that no request template takes', async () => {
    const response = await preflight({ 'Content-Type': 'text/plain' });
    expect([response.status, await response.json()]).toEqual([415, { message: 'Unsupported Media Type' }]);
  });

  const integration = {
    RequestTemplates: { 'application/json': '{"statusCode":204}' },
    PassthroughBehavior: 'NEVER',
    IntegrationResponses: [{ StatusCode: '204' }],
  };
  it.each([
    [{ RequestTemplates: { 'application/json': '#set($x = 1)' } }, 'request template'],
    [{ PassthroughBehavior: 'WHEN_NO_MATCH' }, 'passes other types through'],
    [{ IntegrationResponses: [{ StatusCode: '204', SelectionPattern: '4..' }] }, 'other than one response'],
    [{ IntegrationResponses: [{ StatusCode: '200' }] }, 'the method has no response 200'],
    [
      {
        IntegrationResponses: [
          { StatusCode: '204', ResponseParameters: { 'method.response.header.X-Said': "'undeclared'" } },
        ],
      },
      'the response parameter method.response.header.X-Said',
    ],
  ])('that says more stops the start: %j', (change, problem) => {
    const properties = {
      Integration: { ...integration, ...change },
      MethodResponses: [{ StatusCode: '204' }],
    };
    expect(() =>
      readMock(properties, (reason) => {
        throw new Error(reason);
      }),
    ).toThrow(problem);
  });
});

describe('the event', () => {
  it('carries the request as AWS tells it', async () => {
    const before = Date.now();
    const { event } = await echo('open/x?a=1&a=2&b=%C3%BC+y', { method: 'POST', body: 'text ü' });
    expect(event).toMatchObject({
      httpMethod: 'POST',
      body: 'text ü',
      isBase64Encoded: false,
      queryStringParameters: { a: '2', b: 'ü y' },
      multiValueQueryStringParameters: { a: ['1', '2'], b: ['ü y'] },
      stageVariables: null,
      requestContext: {
        accountId: '000000000000',
        domainName: '127.0.0.1',
        httpMethod: 'POST',
        identity: { sourceIp: '127.0.0.1', userAgent: 'node' },
        path: '/live/v1/open/x',
        protocol: 'HTTP/1.1',
        resourcePath: '/v1/open/{proxy+}',
        stage: 'live',
      },
    });
    expect(event.requestContext.requestTimeEpoch).toBeGreaterThanOrEqual(before);
    expect(event.requestContext.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(event.requestContext.authorizer).toBeUndefined();
    expect(event.headers).toMatchObject({ 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Proto': 'http' });
    expect(event.headers).not.toHaveProperty('content-length');
  });

  it('has null where there is nothing', async () => {
    const { event } = await echo('fresh', { headers: { Authorization: 'someone' } });
    expect(event).toMatchObject({
      body: null,
      isBase64Encoded: false,
      pathParameters: null,
      queryStringParameters: null,
      multiValueQueryStringParameters: null,
    });
  });

  it('keeps the spelling of header names and all values of a repeated one', async () => {
    const { event } = await rawEcho({ 'X-MixedCase': ['one', 'two'], 'X-Forwarded-For': '10.0.0.1' });
    expect(event.headers['X-MixedCase']).toBe('two');
    expect(event.multiValueHeaders['X-MixedCase']).toEqual(['one', 'two']);
    expect(event.headers['X-Forwarded-For']).toBe('10.0.0.1, 127.0.0.1');
  });

  it('has a binary media type in base64', async () => {
    const form = new FormData();
    form.set('name', 'value');
    const { event } = await echo('open/x', { method: 'POST', body: form });
    expect(event.isBase64Encoded).toBe(true);
    expect(Buffer.from(event.body ?? '', 'base64').toString()).toContain('name="name"');
    const image = { method: 'POST', body: Buffer.from([0xff, 0]), headers: { 'Content-Type': 'image/png' } };
    expect((await echo('open/x', image)).event.body).toBe('/wA=');
  });
});

describe('a function', () => {
  it('sees its own environment and nothing of this process', async () => {
    const { environment } = await echo('open/x');
    expect(environment).toMatchObject({
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '256',
      AWS_REGION: 'us-east-1',
      EXTRA: 'value',
      TABLE_NAME: run.physicalIds[Object.keys(run.physicalIds).find((id) => id.startsWith('Items')) ?? ''],
      TZ: ':UTC',
    });
    expect(environment).not.toHaveProperty('PATH');
    expect(environment).not.toHaveProperty('HOME');
    expect(environment).not.toHaveProperty('NODE_COMPILE_CACHE');
  });

  it('gets a context', async () => {
    const { context, remaining } = await echo('open/x');
    expect(context).toMatchObject({
      functionName: expect.stringMatching(/^Fixture-Echo/),
      memoryLimitInMB: '256',
    });
    expect(context.invokedFunctionArn).toMatch(
      /^arn:aws:lambda:us-east-1:000000000000:function:Fixture-Echo/,
    );
    expect(remaining).toBeGreaterThan(5000);
    expect(remaining).toBeLessThanOrEqual(10_000);
  });
});

describe('a response', () => {
  const respond = (value: unknown, init?: RequestInit) =>
    run.fetch(`act?${new URLSearchParams({ do: 'answer', value: JSON.stringify(value) })}`, init);

  it('has the status, headers and repeated headers that the function gave', async () => {
    const response = await respond({
      statusCode: 418,
      headers: { 'X-One': 1, 'Content-Type': 'text/plain' },
      multiValueHeaders: { 'Set-Cookie': ['a=1', 'b=2'] },
      body: 'tea',
    });
    expect(response.status).toBe(418);
    expect(response.headers.get('x-one')).toBe('1');
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(response.headers.get('content-type')).toBe('text/plain');
    expect(await response.text()).toBe('tea');
  });

  it('is bytes only when the client accepts a binary type', async () => {
    const image = {
      statusCode: 200,
      body: Buffer.from([1, 2, 255]).toString('base64'),
      isBase64Encoded: true,
    };
    const binary = await respond(image, { headers: { Accept: 'image/png' } });
    expect([...new Uint8Array(await binary.arrayBuffer())]).toEqual([1, 2, 255]);
    expect(await (await respond(image)).text()).toBe('AQL/');
  });

  it.each([
    ['null', null],
    ['a text', 'text'],
    ['no status', { body: '' }],
    ['a status that is none', { statusCode: 99, body: '' }],
    ['a body that is no text', { statusCode: 200, body: { a: 1 } }],
    ['a key too many', { statusCode: 200, body: '', more: 1 }],
    ['a header that is an object', { statusCode: 200, headers: { a: {} }, body: '' }],
  ])('that is malformed is a 502: %s', async (_, value) => {
    const response = await respond(value);
    expect(response.status).toBe(502);
    expect(await response.json()).toEqual({ failed: 'Internal server error' });
  });

  it('keeps its connection', async () => {
    const first = await respond({ statusCode: 200, body: '' });
    expect(first.headers.get('connection')).toBe('keep-alive');
  });
});

function rawEcho(headers: Record<string, string | string[]>): Promise<Echo> {
  return new Promise((resolve, reject) => {
    httpRequest(`${run.url}/v1/open/x`, { headers }, async (response) => {
      const chunks = await response.toArray();
      resolve(JSON.parse(Buffer.concat(chunks).toString()) as Echo);
    })
      .on('error', reject)
      .end();
  });
}
