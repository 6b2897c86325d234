import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, it } from 'vitest';
import { functionInvoker } from '#adapters/outbound/function-invoker.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';

const arn = 'arn:aws:lambda:eu-central-1:123456789012:function:canary:live';
const received: { path: string | undefined; headers: IncomingHttpHeaders; body: string }[] = [];
let respond: { status: number; headers?: Record<string, string>; body?: string };
const lambda = createServer(async (request, response) => {
  received.push({ path: request.url, headers: request.headers, body: await text(request) });
  response.writeHead(respond.status, respond.headers).end(respond.body);
});
const { url } = closeAfterTests(await listenLocally(lambda));
const credentials = async () => ({ accessKeyId: 'ASIA', secretAccessKey: 'secret', sessionToken: 'session' });
const call = (signal = new AbortController().signal, endpoint: string | undefined = url) =>
  functionInvoker(credentials, endpoint)({ arn, payload: '{"tool":"x"}', timeout: 1000, signal });
beforeEach(() => {
  received.length = 0;
});

it('signs one call in the Region of the function', async () => {
  respond = { status: 200, body: '{"found":7}' };
  expect(await call()).toEqual({ payload: '{"found":7}', hasFailed: false });
  expect(received).toMatchObject([
    {
      path: `/2015-03-31/functions/${encodeURIComponent(arn)}/invocations`,
      headers: {
        authorization: expect.stringMatching(
          /^AWS4-HMAC-SHA256 Credential=ASIA\/\d{8}\/eu-central-1\/lambda\/aws4_request/,
        ),
        'x-amz-security-token': 'session',
      },
      body: '{"tool":"x"}',
    },
  ]);
});

it.each([
  [429, 'TooManyRequestsException', 'refused', 'The function is busy; it may answer later'],
  [
    403,
    'AccessDeniedException:http://internal.amazon.com/',
    'forbidden',
    'This service may not call the function',
  ],
  [404, 'ResourceNotFoundException', 'changed', 'The function does not exist'],
  [500, 'ServiceException', undefined, 'The function was not called: ServiceException'],
  [302, 'None', undefined, 'The function was not called: None'],
])('calls once, and says nothing of what Lambda says: %d %s', async (status, type, kind, message) => {
  respond = {
    status,
    headers: { 'x-amzn-errortype': type, location: '/other' },
    body: `{"Message":"${arn}"}`,
  };
  const error: unknown = await call().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ message, ...(kind !== undefined && { kind }) });
  expect(received).toHaveLength(1);
});

it('ends with its signal, and says so if it cannot connect', async () => {
  await expect(call(AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  await expect(call(undefined, 'http://127.0.0.1:1')).rejects.toMatchObject({ kind: 'unreachable' });
});
