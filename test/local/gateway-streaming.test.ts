import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type Checkpoint, openCheckpoint } from './fixture/open-checkpoint.ts';
import { startFixture } from './fixture/start-fixture.ts';

let checkpoint: Checkpoint;
const run = closeAfterTests(await startFixture());
beforeEach(async () => {
  checkpoint = await openCheckpoint();
});
afterEach(() => checkpoint.close());

const isBusy = () =>
  run.workers().some(({ functionName, busy }) => busy && /-Stream[0-9A-F]{8}$/.test(functionName));

/** A request whose response the test reads when it wants to. */
async function open(path: string): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  return await new Promise((resolve, reject) => {
    const request = httpRequest(`${run.url}/v1/${path}`, { agent: false }, (response) =>
      resolve({ request, response }),
    );
    request.on('error', reject).end();
  });
}

async function next(response: IncomingMessage): Promise<string> {
  const chunk = await new Promise<Buffer>((resolve) => {
    response.once('data', resolve);
    response.resume();
  });
  response.pause();
  return chunk.toString();
}

describe('a streamed response', () => {
  it('comes chunk by chunk, each before the function writes the next', async () => {
    const { response } = await open(`stream?checkpoint=${checkpoint.url}`);
    const ended = once(response, 'end');
    expect(response.statusCode).toBe(201);
    expect(response.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-mode': 'streamed' });
    expect(await next(response)).toBe('one');
    await checkpoint.reached('one');
    checkpoint.release('one');
    expect(await next(response)).toBe('zwei-ü');
    await checkpoint.reached('two');
    checkpoint.release('two');
    expect(await next(response)).toBe('three');
    response.resume();
    await ended;
    // The client has the complete response while the function is still running.
    await checkpoint.reached('ended');
    expect(isBusy()).toBe(true);
    checkpoint.release('ended');
    await vi.waitFor(() => expect(isBusy()).toBe(false), 60_000);
    expect(run.violations()).toEqual([]);
  });

  it('of a client that left is written to its end all the same', async () => {
    const { request, response } = await open(`stream?checkpoint=${checkpoint.url}`);
    expect(await next(response)).toBe('one');
    request.destroy();
    for (const name of ['one', 'two', 'ended']) {
      await checkpoint.reached(name);
      checkpoint.release(name);
    }
    await vi.waitFor(() => expect(isBusy()).toBe(false), 60_000);
  });

  it('waits for a slow client, and a client that left holds nothing up', async () => {
    const chunks = 2000; // 32 MB: more than all socket buffers take
    const { request, response } = await open(`stream?do=flood&chunks=${chunks}&checkpoint=${checkpoint.url}`);
    checkpoint.release('stalled');
    checkpoint.release('flooded');
    await checkpoint.reached('stalled');
    // The client reads nothing. Without back-pressure, the function would write these 32 MB in about 50 ms.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(checkpoint.hasReached('flooded')).toBe(false);
    request.destroy();
    response.on('error', () => {});
    await checkpoint.reached('flooded');
  });

  it('is complete for a client that reads at last', async () => {
    checkpoint.release('stalled');
    checkpoint.release('flooded');
    const { response } = await open(`stream?do=flood&chunks=200&checkpoint=${checkpoint.url}`);
    await checkpoint.reached('stalled');
    const chunks = await response.toArray();
    expect(Buffer.concat(chunks).length).toBe(200 * 16 * 1024);
  });

  it('does not wait behind another one', async () => {
    const first = await open(`stream?checkpoint=${checkpoint.url}`);
    await checkpoint.reached('one');
    expect(await (await run.fetch('stream')).text()).toBe('onezwei-üthree');
    for (const name of ['one', 'two', 'ended']) checkpoint.release(name);
    expect(Buffer.concat(await first.response.toArray()).toString()).toBe('onezwei-üthree');
  });
});

describe('a streaming function that fails', () => {
  it.each(['fail-first', 'no-write', 'wrong-header'])('before its first byte is a 502: %s', async (how) => {
    const response = await run.fetch(`stream?do=${how}`);
    expect(response.status).toBe(502);
    expect(await response.json()).toEqual({ failed: 'Internal server error' });
  });

  it('later breaks the connection off', async () => {
    checkpoint.release('one');
    const { response } = await open(`stream?do=fail-later&checkpoint=${checkpoint.url}`);
    expect(response.statusCode).toBe(201);
    await expect(response.toArray()).rejects.toThrow('aborted');
  });

  it('because it is killed breaks the connection off', async () => {
    const { response } = await open(`stream?checkpoint=${checkpoint.url}`);
    await checkpoint.reached('one');
    run.killWorkers('Stream');
    await expect(response.toArray()).rejects.toThrow('aborted');
  });

  it('because the integration has no more time breaks the connection off', async () => {
    // On a busy machine, a cold start takes all of the integration's half second.
    const response = await vi.waitFor(async () => {
      const { response } = await open('stream-too-long');
      expect(await next(response)).toBe('begun');
      return response;
    }, 20_000);
    await expect(response.toArray()).rejects.toThrow('aborted');
  });
});

describe('the two kinds of integration', () => {
  it('want a function of their kind', async () => {
    expect((await run.fetch('stream-buffered')).status).toBe(502);
    expect((await run.fetch('act-streamed?do=count')).status).toBe(502);
  });
});
