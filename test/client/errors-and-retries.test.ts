import { getEventListeners } from 'node:events';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorTable } from '#contract/errors.ts';
import {
  ApiError,
  AuthenticationError,
  BadRequestError,
  ChatBatchClient,
  type ClientOptions,
  errorClasses,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  RequestTimeoutError,
  ServerError,
  UserNotAllowedError,
} from '#lib/client/index.ts';
import { envelope, type FrontRequest, startFront } from '#support/front-server.ts';
import { createTenant, operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const apiKey = 'ak_secret-of-the-test';
const chat = { id: 7, name: 'Chat' };

/** A client of a server whose responses the test scripts. */
async function openFront(
  serve: (request: FrontRequest, number: number) => void,
  options: Partial<ClientOptions> = {},
) {
  const front = await startFront();
  onTestFinished(() => front.close());
  front.serve = (request) => serve(request, front.requests.length);
  const client = new ChatBatchClient({ baseUrl: front.baseUrl, apiKey, retryDelay: 1, ...options });
  return { front, client };
}

describe('errors', () => {
  test('each code of the contract has a class', async () => {
    const codes = Object.values(errorTable).map(({ status, errorCode }) => `${status}/${errorCode}`);
    expect(Object.keys(errorClasses).toSorted()).toEqual(codes.toSorted());
    for (const { status, errorCode } of Object.values(errorTable)) {
      const { client } = await openFront(
        ({ respond }) =>
          respond(
            status,
            { data: { a: 1 }, message: 'Why', error_code: errorCode },
            { 'x-request-id': 'req-1' },
          ),
        { maxRetries: 0 },
      );
      const error = await client.chats.get(7).catch((reason: unknown) => reason);
      const ErrorClass = errorClasses[`${status}/${errorCode}` as keyof typeof errorClasses];
      expect(error).toBeInstanceOf(ErrorClass);
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({
        name: ErrorClass.name,
        message: 'Why',
        status,
        errorCode,
        requestId: 'req-1',
        data: { a: 1 },
      });
    }
  });

  test('the service throws them', async () => {
    const tenant = await createTenant({ whitelist: ['ada'] });
    const options = { baseUrl: service.baseUrl, apiKey: tenant.apiKey };
    const client = new ChatBatchClient(options);
    const unknownKey = new ChatBatchClient({ ...options, apiKey: 'ak_unknown' });
    await expect(unknownKey.agents.list()).rejects.toThrow(AuthenticationError);
    await expect(client.chats.create({ name: '', agent_id: tenant.agentId })).rejects.toThrow(
      UserNotAllowedError,
    );
    const user = { external_user_id: 'ada' };
    const invalid = client.chats.create({ name: '', agent_id: tenant.agentId, ...user });
    await expect(invalid).rejects.toThrow(BadRequestError);
    await expect(client.chats.get(999_999, user)).rejects.toThrow(NotFoundError);
    await expect(client.files.upload(new Blob(['?']), { name: 'a.exe' })).rejects.toMatchObject({
      name: 'BadRequestError',
      requestId: expect.any(String),
      data: { original_name: 'a.exe', error_msg: expect.stringMatching(/^Unsupported/) },
    });
    await operator().workspaces.update(tenant.workspaceId, { enabled: false });
    await expect(client.agents.list()).rejects.toThrow(PermissionDeniedError);
  });

  test('the rate limit of the service is waited for, and without retries an error', async () => {
    const tenant = await createTenant({ limits: { reads: '1/s:1' } });
    const client = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey: tenant.apiKey });
    const calls = Array.from({ length: 3 }, () => client.agents.list());
    expect((await Promise.all(calls)).map((agents) => agents.length)).toEqual([1, 1, 1]);
    const impatient = Array.from({ length: 8 }, () => client.agents.list({ maxRetries: 0 }));
    await expect(Promise.all(impatient)).rejects.toMatchObject({ name: 'RateLimitError', retryAfter: 1 });
  });

  test('the limit of a day is no error to wait for: its Retry-After is longer than a minute', async () => {
    const tenant = await createTenant({ limits: { batchRequests: '2/d' } });
    const client = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey: tenant.apiKey });
    const create = () =>
      client.batches.create({
        agent_id: tenant.agentId,
        requests: ['1', '2'].map((custom_id) => ({ custom_id, message: 'Hello' })),
      });
    await create();
    const error = await create().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /^Rate limit exceeded: batch requests are limited to 2\/d, try again in \d+ s/,
      ),
      retryAfter: expect.any(Number),
    });
    expect((error as RateLimitError).retryAfter).toBeGreaterThan(86_000);
  });

  test('a Retry-After that is neither seconds nor a date is none', async () => {
    const cases = {
      '1.5': undefined,
      '-1': undefined,
      soon: undefined,
      '7': 7,
      [new Date(0).toUTCString()]: 0,
    };
    for (const [value, retryAfter] of Object.entries(cases)) {
      const { client } = await openFront(rejection(429, { 'retry-after': value }), { maxRetries: 0 });
      await expect(client.chats.get(7), value).rejects.toMatchObject({ retryAfter });
    }
  });

  test('responses without an envelope have a class by their status', async () => {
    for (const [status, ErrorClass] of [
      [302, ApiError],
      [413, ApiError],
      [429, RateLimitError],
      [502, ServerError],
      [504, ServerError],
    ] as const) {
      const { client } = await openFront(
        ({ response }) => response.writeHead(status, { location: '/' }).end('<html>'),
        {
          maxRetries: 0,
        },
      );
      const error = await client.chats.get(7).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ErrorClass);
      expect(error).toMatchObject({ status, errorCode: undefined });
    }
    for (const text of ['{"hello":"world"}', '<html>Hello</html>']) {
      const { front, client } = await openFront(({ response }) => response.end(text));
      await expect(client.chats.get(7)).rejects.toThrow(
        `The response of ${front.baseUrl} is not one of this service: is it the base address?`,
      );
      expect(front.requests.length).toBe(1);
    }
  });

  test('no error and no text of the client has the key', async () => {
    const wrong = 'ak_secret\nsecond line';
    expect(() => new ChatBatchClient({ baseUrl: service.baseUrl, apiKey: wrong })).toThrow(
      expect.not.stringContaining('secret'),
    );
    const { front, client } = await openFront(({ reset }) => reset(), { maxRetries: 0 });
    const lost = await client.chats.get(7).catch((reason: unknown) => reason);
    await front.close();
    const refused = await client.chats.get(7).catch((reason: unknown) => reason);
    const unknown = await new ChatBatchClient({ baseUrl: service.baseUrl, apiKey }).chats
      .get(7)
      .catch((reason: unknown) => reason);
    for (const value of [client, lost, refused, unknown])
      for (const text of [inspect(value, { depth: 9, showHidden: true }), JSON.stringify(value)])
        expect(text).not.toContain('secret');
  });
});

const rejection =
  (status: number, headers: Record<string, string> = {}, message = 'No') =>
  ({ respond }: FrontRequest) =>
    respond(status, { data: null, message, error_code: status === 429 ? 10029 : 10005 }, headers);
const success = ({ respond, path }: FrontRequest) =>
  respond(200, envelope(path.endsWith('messages') ? 'Hello' : chat));
const inProgress = rejection(400, { 'retry-after': '0' }, 'A reply is already in progress for this chat');

/** The first response, and whether a request with and one without a key is then retried. */
const retried: [name: string, first: (request: FrontRequest) => void, withKey: boolean, without: boolean][] =
  [
    ['429', rejection(429, { 'retry-after': '0' }), true, true],
    ['429 without Retry-After', rejection(429), true, true],
    [
      '429 with a date that has passed',
      rejection(429, { 'retry-after': new Date(0).toUTCString() }),
      true,
      true,
    ],
    ['429 for two minutes', rejection(429, { 'retry-after': '120' }), false, false],
    ['503 with Retry-After', rejection(503, { 'retry-after': '0' }), true, true],
    ['503 without Retry-After', rejection(503), true, false],
    ['500', rejection(500), true, false],
    ['502 of a proxy', ({ response }) => response.writeHead(502).end(), true, false],
    ['500 that is replayed', rejection(500, { 'idempotency-replayed': 'true' }), false, false],
    ['a reply in progress', inProgress, true, false],
    ['400', rejection(400), false, false],
    ['404', rejection(404), false, false],
    ['a lost connection', ({ reset }) => reset(), true, false],
    ['half of a body', ({ response }) => response.end('{"data":"He'), true, false],
    [
      'a body that is cut',
      ({ response }) =>
        response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy()),
      true,
      false,
    ],
  ];

test('the user of the client is that of all requests that name none', async () => {
  const { front, client } = await openFront(success, { externalUserId: 'ada' });
  const agent_id = 'a';
  const users: [given: { external_user_id?: string | null }, sent: string | null | undefined][] = [
    [{}, 'ada'],
    [{ external_user_id: undefined as never }, 'ada'],
    [{ external_user_id: 'bob' }, 'bob'],
    [{ external_user_id: null }, null],
  ];
  for (const [user, expected] of users) {
    front.requests.length = 0;
    await client.chats.create({ name: 'Chat', agent_id, ...user });
    await client.messages.send(7, { message: 'Hi', agent_id, ...user });
    await client.batches.create({ agent_id, requests: [{ custom_id: 'a', message: 'Hi', ...user }] });
    const [chatBody, sendBody, batchBody] = front.requests.map(({ body }) => JSON.parse(body));
    const sent = [chatBody, sendBody, batchBody.requests[0]].map(({ external_user_id }) => external_user_id);
    expect(sent).toEqual([expected, expected, expected]);
    await client.chats.get(7, user);
    expect(front.requests.at(-1)?.path).toBe(
      `/chats/7${expected === null ? '' : `?external_user_id=${expected}`}`,
    );
  }
});

describe('retries', () => {
  test.each(retried)('%s', async (_, first, withKey, without) => {
    const failures: unknown[] = [];
    const { front, client } = await openFront(
      (request, number) => (number === 1 ? first : success)(request),
      {
        onRetry: (error) => void failures.push(error),
      },
    );
    const keyed = await client.messages.send(7, { message: 'Hi', agent_id: 'a' }).catch(() => undefined);
    expect(front.requests.length).toBe(withKey ? 2 : 1);
    expect(keyed?.text).toBe(withKey ? 'Hello' : undefined);
    expect(failures.length).toBe(withKey ? 1 : 0);
    const keys = front.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[\da-f-]{36}$/);
    expect(new Set(keys).size).toBe(1);

    front.requests.length = 0;
    await client.files.upload(new Blob(['a']), { name: 'a.txt' }).catch(() => undefined);
    expect(front.requests.length).toBe(without ? 2 : 1);
    expect(front.requests[0]?.headers['idempotency-key']).toBe(undefined);
  });

  test('end after maxRetries, with the last error', async () => {
    const { front, client } = await openFront(rejection(500));
    await expect(client.chats.get(7)).rejects.toThrow(ServerError);
    expect(front.requests.length).toBe(4);
    await expect(client.chats.get(7, {}, { maxRetries: 0 })).rejects.toThrow(ServerError);
    expect(front.requests.length).toBe(5);
  });

  test('wait longer each time, at most a minute, and 10 to 25 percent more', async () => {
    const waits: number[] = [];
    const { client } = await openFront(rejection(500), {
      maxRetries: 6,
      onRetry: (_, milliseconds) => void waits.push(milliseconds),
    });
    await expect(client.chats.get(7)).rejects.toThrow(ServerError);
    expect(waits.length).toBe(6);
    for (const [index, wait] of waits.entries()) {
      expect(wait / 2 ** index).toBeGreaterThanOrEqual(1.1);
      expect(wait / 2 ** index).toBeLessThanOrEqual(1.25);
    }
    const aborted = new AbortController();
    const slow = await openFront(rejection(500), {
      retryDelay: 100_000,
      onRetry: (_, milliseconds) => aborted.abort(milliseconds),
    });
    const waited = await slow.client.chats
      .get(7, {}, { signal: aborted.signal })
      .catch((reason: unknown) => reason);
    expect(waited).toBeGreaterThanOrEqual(66_000);
    expect(waited).toBeLessThanOrEqual(75_000);
  });

  test('wait for the rate limit without an end, if the client says so', async () => {
    const { front, client } = await openFront(
      (request, number) => {
        if (number < 8) rejection(429, { 'retry-after': '0' })(request);
        else (number === 8 ? rejection(500) : success)(request);
      },
      { maxRetries: 1, waitForRateLimit: true },
    );
    expect(await client.chats.get(7)).toEqual(chat);
    expect(front.requests.length).toBe(9);
    front.requests.length = 0;
    await expect(client.chats.get(7, {}, { waitForRateLimit: false })).rejects.toThrow(RateLimitError);
    expect(front.requests.length).toBe(2);

    const aborted = new AbortController();
    const long = await openFront(rejection(429, { 'retry-after': '120' }), {
      waitForRateLimit: true,
      onRetry: (_, milliseconds) => aborted.abort(milliseconds),
    });
    const waited = await long.client.chats
      .get(7, {}, { signal: aborted.signal })
      .catch((reason: unknown) => reason);
    expect(waited).toBeGreaterThanOrEqual(132_000);
  });

  test('end with an error that says whether any attempt may have been carried out', async () => {
    const rejectionOf: Record<number, (request: FrontRequest) => void> = {
      2: rejection(429),
      3: rejection(400),
    };
    for (const [name, first, mayBeProcessed] of [
      ['429', rejection(429), false],
      ['500', rejection(500), true],
      ['a lost connection', ({ reset }: FrontRequest) => reset(), true],
    ] as const) {
      const retried: unknown[] = [];
      const { client } = await openFront((request, number) => (rejectionOf[number] ?? first)(request), {
        onRetry: (error) => retried.push(error),
      });
      const error = await client.chats
        .create({ name: 'A', agent_id: 'a' })
        .catch((reason: unknown) => reason);
      expect([name, error]).toEqual([name, expect.objectContaining({ status: 400, mayBeProcessed })]);
      expect(retried).toEqual([
        expect.objectContaining({ mayBeProcessed }),
        expect.objectContaining({ status: 429, mayBeProcessed }),
      ]);
    }
  });

  test('wait for a lost reply longer than maxRetries, and for one of others not', async () => {
    const { front, client } = await openFront((request, number) => {
      if (number === 1) request.reset();
      else if (number < 8) inProgress(request);
      else success(request);
    });
    expect(await client.messages.send(7, { message: 'Hi', agent_id: 'a' })).toMatchObject({ text: 'Hello' });
    expect(front.requests.length).toBe(8);
    const { front: busy, client: other } = await openFront(inProgress);
    await expect(other.messages.send(7, { message: 'Hi', agent_id: 'a' })).rejects.toThrow('in progress');
    expect(busy.requests.length).toBe(4);
  });

  test('wait as long as Retry-After says, and at most a quarter longer', async () => {
    const times: number[] = [];
    const { client } = await openFront((request, number) => {
      times.push(performance.now());
      if (number === 1) rejection(429, { 'retry-after': '1' })(request);
      else success(request);
    });
    await client.chats.get(7);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(1100);
  });

  test('a timeout is that of an attempt, and retried with a key alone', async () => {
    let attempts = 0;
    const { client } = await openFront(() => undefined, {
      timeout: 50,
      maxRetries: 1,
      fetch: (address, init) => {
        attempts += 1;
        return fetch(address, init);
      },
    });
    const sent = client.messages.send(7, { message: 'Hi', agent_id: 'a' });
    await expect(sent).rejects.toThrow(RequestTimeoutError);
    expect(attempts).toBe(2);
    const uploaded = client.files.upload(new Blob(['a']), { name: 'a.txt' });
    await expect(uploaded).rejects.toThrow(RequestTimeoutError);
    expect(attempts).toBe(3);
  });

  test('an aborted signal ends a request, a wait and a list with its reason', async () => {
    const reason = new Error('Enough');
    const aborted = new AbortController();
    const { front, client } = await openFront(() => aborted.abort(reason));
    await expect(client.chats.get(7, {}, { signal: aborted.signal })).rejects.toBe(reason);
    await expect(client.chats.get(7, {}, { signal: aborted.signal })).rejects.toBe(reason);
    expect(front.requests.length).toBe(1);
    const waiting = new AbortController();
    const limited = await openFront((request) => {
      rejection(429, { 'retry-after': '30' })(request);
      request.response.once('close', () => waiting.abort(reason));
    });
    await expect(Array.fromAsync(limited.client.chats.list({}, { signal: waiting.signal }))).rejects.toBe(
      reason,
    );
    expect(limited.front.requests.length).toBe(1);
  });

  test('many requests share a signal, without a warning of Node.js', async () => {
    const { client } = await openFront(success);
    const { signal } = new AbortController();
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    await Promise.all(Array.from({ length: 30 }, () => client.chats.get(7, {}, { signal })));
    expect(getEventListeners(signal, 'abort').length).toBe(1);
    expect(warnings).toEqual([]);
  });

  test('a failure of a promise with withResponse is reported once', async () => {
    const { front, client } = await openFront(rejection(404));
    await expect(client.chats.get(7).withResponse()).rejects.toMatchObject({ status: 404 });
    await front.close();
    await expect(client.chats.get(7, {}, { maxRetries: 0 })).rejects.toMatchObject({
      name: 'ConnectionError',
      message: `The service cannot be reached at ${front.baseUrl}: ECONNREFUSED`,
      mayBeProcessed: false,
    });
  });
});
