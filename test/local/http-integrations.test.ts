import { describe, expect, it, vi } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startFixture } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

let repeated: 'meanwhile' | 'afterwards' | undefined;
const assembly = await synthesizeFixture('Web');
const run = closeAfterTests(await startFixture({ assembly, faults: { repeatedRequest: () => repeated } }));

interface Delivered {
  method: string;
  url: string;
  headers: Record<string, string>;
  bytes: number;
  times: number;
}

const post = (path: string, init: RequestInit = {}) =>
  fetch(`${run.endpoints.gateway}/passed/${path}`, { method: 'POST', ...init });

describe('an HTTP integration', () => {
  it('passes path, query, body and headers on, with those that the template maps in place of the client’s', async () => {
    const response = await post('a%20b%2Fc?d=e&d=f', {
      body: 'hello',
      headers: {
        'x-own': 'kept',
        'X-Request': 'forged',
        'x-extended': 'forged',
        'Content-Type': 'text/plain',
      },
    });
    const { method, url, headers, bytes } = (await response.json()) as Delivered;
    expect([response.status, method, url, bytes]).toEqual([201, 'POST', '/seen/a%20b%2Fc?d=e&d=f', 5]);
    expect(headers).toMatchObject({
      'x-own': 'kept',
      'content-type': 'text/plain',
      'x-request': response.headers.get('x-amzn-requestid'),
      'x-extended': response.headers.get('x-amz-apigw-id'),
      'x-forwarded-for': expect.any(String),
      host: expect.stringMatching(/lambda-web/),
      'lambda-web-request-id': response.headers.get('lambda-web-request-id'),
    });
    // A proxy integration passes on what Lambda adds to the response.
    expect(response.headers.get('lambda-web-logstream')).toMatch(/^local\/\d+$/);
  });

  it('takes the name of a variable as its value', async () => {
    const { url } = (await (await post('%7Bid%7D')).json()) as Delivered;
    expect(url).toBe('/seen/%7Bid%7D');
  });

  it('passes the parts of a streamed response on as they come, and renames headers that the gateway sets', async () => {
    const first = await post('parts');
    expect([first.status, first.headers.get('x-amzn-remapped-date')]).toEqual([200, 'of the server']);
    const reader = first.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toBe('first');
    const second = await post('parts');
    expect((await reader?.read())?.value).toBe('second');
    // The stream outlasts the gateway's time for it, and breaks off.
    await expect(reader?.read()).rejects.toThrow();
    await expect(second.text()).rejects.toThrow();
  });

  it('is a 504 of the gateway when the response does not come in time', async () => {
    const response = await post('silent');
    expect([response.status, response.headers.get('x-amzn-errortype')]).toEqual([
      504,
      'InternalServerErrorException',
    ]);
  });

  it('has Lambda’s own answer when the environment ends, and another environment for the next request', async () => {
    const ended = await post('exit');
    expect([ended.status, ended.headers.get('lambda-web-error-type'), await ended.text()]).toEqual([
      502,
      'Runtime.Unavailable',
      '',
    ]);
    // The runner learns of the end a moment later.
    await vi.waitFor(async () => expect((await post('again')).status).toBe(201), 60_000);
  });

  it.each(['meanwhile', 'afterwards'] as const)(
    'sends a request twice if it is told to, %s',
    async (when) => {
      repeated = when;
      const response = await post(when, { body: 'hello' });
      repeated = undefined;
      expect([response.status, ((await response.json()) as Delivered).bytes]).toEqual([201, 5]);
      expect(((await (await post(when)).json()) as Delivered).times).toBe(3);
    },
  );
});
