import { describe, expect, it, vi } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startFixture } from './fixture/start-fixture.ts';

const run = closeAfterTests(await startFixture());

const MEGABYTE = 1024 * 1024;
const post = (bytes: number) => run.fetch('count', { method: 'POST', body: 'x'.repeat(bytes) });

describe('a request', () => {
  it('fits into a function payload of 6 MB or is a 413', async () => {
    const { payloadBytes } = (await (await post(10)).json()) as { payloadBytes: number };
    const longest = 6 * MEGABYTE - (payloadBytes - 10);
    const response = await post(longest);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ length: longest, payloadBytes: 6 * MEGABYTE });
    const exceeding = await post(longest + 1);
    expect(exceeding.status).toBe(413);
    expect(await exceeding.json()).toEqual({ message: 'Request Too Long' });
  });

  it('of 10 MB is too long for the function, one byte more for the gateway', async () => {
    expect(await (await post(10 * MEGABYTE)).json()).toEqual({ message: 'Request Too Long' });
    const exceeding = await post(10 * MEGABYTE + 1);
    expect(exceeding.status).toBe(413);
    expect(await exceeding.json()).toEqual({ message: 'HTTP content length exceeded 10485760 bytes.' });
  });

  it('that is far too long is answered when it has been sent', async () => {
    const response = await post(40 * MEGABYTE);
    expect(response.status).toBe(413);
    expect((await post(10)).status).toBe(200);
  });
});

describe('request line and header values', () => {
  it('may have 10,240 bytes together', async () => {
    const send = (length: number) => run.fetch('act?do=count', { headers: { 'X-Long': 'x'.repeat(length) } });
    expect((await send(9000)).status).toBe(200);
    const response = await send(10_240);
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual({ message: 'HTTP header is larger than 10240 bytes.' });
  });
});

describe('a buffered response', () => {
  // The length of {"statusCode":200,"body":"…"} without the text.
  const AROUND = JSON.stringify({ statusCode: 200, body: '' }).length;
  const LIMIT = 6_291_556;

  it('may have as many bytes as a function can return', async () => {
    const response = await run.act({ do: 'big', bytes: String(LIMIT - AROUND) });
    expect(response.status).toBe(200);
    expect((await response.text()).length).toBe(LIMIT - AROUND);
  });

  it('is a 502 with one byte more', async () => {
    const response = await run.act({ do: 'big', bytes: String(LIMIT - AROUND + 1) });
    expect(response.status).toBe(502);
    expect(await response.json()).toEqual({ failed: 'Internal server error' });
  });
});

describe('time', () => {
  it('of the integration runs out as a 504 while the function goes on', async () => {
    const response = await run.fetch('impatient?do=hang');
    expect(response.status).toBe(504);
    expect(await response.json()).toEqual({ failed: 'Endpoint request timed out' });
    const atWork = { functionName: expect.stringContaining('Impatient'), busy: true };
    await vi.waitFor(() => expect(run.workers()).toContainEqual(atWork), 60_000);
  });
});

describe('many short calls at once', () => {
  it('do not start a thread each', async () => {
    run.killWorkers('Count');
    const calls = Array.from({ length: 40 }, () => post(1));
    expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
    const threads = run.workers().filter(({ functionName }) => functionName.includes('Count'));
    expect(threads.length).toBeLessThanOrEqual(10);
  });
});

describe('a method that the stage throttles', () => {
  const call = (path: string, method = 'GET', word = 'somebody') =>
    run.fetch(path, { method, headers: { Authorization: word } });

  it('takes its burst, whoever asks for whatever parameter, and answers 429 before the authorizer is asked', async () => {
    expect((await call('throttled/1')).status).toBe(200);
    expect((await call('throttled/2', 'GET', 'deny')).status).toBe(403);
    for (const word of ['somebody', 'another', 'deny', '']) {
      const response = await call('throttled/3', 'GET', word);
      expect(response.status).toBe(429);
      expect(response.headers.get('retry-after')).toBe('1');
      expect(response.headers.get('x-amzn-errortype')).toBe('TooManyRequestsException');
      expect(await response.json()).toEqual({ throttled: 'Too Many Requests' });
    }
  });

  it('may be one of the root', async () => {
    const statuses = [await call('..'), await call('..')].map(({ status }) => status);
    expect(statuses).toEqual([200, 429]);
  });

  it('leaves the others alone', async () => {
    expect((await call('throttled/1', 'POST')).status).toBe(200);
    expect((await call('fresh')).status).toBe(200);
  });
});
