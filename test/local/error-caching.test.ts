import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RunningTemplate, runTemplate } from '#local/run-template.ts';
import { changeAssembly } from './fixture/change-assembly.ts';
import { makeDataDir } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

const folders: string[] = [];
const runs: RunningTemplate[] = [];
const startWeb = async (assembly: string) => {
  const dataDir = await makeDataDir();
  folders.push(dataDir);
  const run = await runTemplate({ assembly, dataDir, port: 0 });
  runs.push(run);
  return new URL(run.url).origin;
};
afterAll(async () => {
  await Promise.all(runs.map((run) => run.close()));
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
});

/**
 * One tenant's request and then the same request of another tenant, to see whether the second one gets a cached
 * response.
 */
let requests = 0;
async function twoTenants(
  front: string,
  status: number,
  options: { cacheControl?: string; method?: string; secondsBetween?: number } = {},
): Promise<string[]> {
  const { cacheControl, method = 'GET', secondsBetween = 1 } = options;
  requests += 1;
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now());
  try {
    const responses: string[] = [];
    for (const tenant of ['ann', 'bob']) {
      const response = await fetch(`${front}/live/web/${requests}/status/${status}?of=${tenant}`, {
        method,
        headers: {
          'x-api-key': tenant,
          ...(cacheControl !== undefined && { 'x-answer-with': cacheControl }),
        },
      });
      expect(response.status).toBe(status);
      const { headers } = (await response.json()) as { headers: Record<string, string> };
      responses.push(headers['x-api-key'] ?? '');
      clock.mockReturnValue(Date.now() + secondsBetween * 1000);
    }
    return responses;
  } finally {
    clock.mockRestore();
  }
}

const leaked = ['ann', 'ann'];
const own = ['ann', 'bob'];

describe('a distribution that says nothing of errors', () => {
  let front: string;
  beforeAll(async () => {
    front = await startWeb(await synthesizeFixture('Web'));
  });

  it.each([404, 405, 410, 414, 500, 501, 502, 503, 504])(
    'answers whoever asks next with the cached %d',
    async (status) => {
      expect(await twoTenants(front, status)).toEqual(leaked);
    },
  );

  it('caches for ten seconds', async () => {
    expect(await twoTenants(front, 404, { secondsBetween: 9.9 })).toEqual(leaked);
    expect(await twoTenants(front, 404, { secondsBetween: 10 })).toEqual(own);
  });

  it.each([201, 400, 403, 412, 415, 401, 429])('caches no %d by itself', async (status) => {
    expect(await twoTenants(front, status)).toEqual(own);
  });

  it.each([400, 403, 412, 415])(
    'caches a %d whose origin gives it an age, even of nothing',
    async (status) => {
      expect(await twoTenants(front, status, { cacheControl: 'max-age=0' })).toEqual(leaked);
      expect(await twoTenants(front, status, { cacheControl: 'private, s-maxage=5' })).toEqual(leaked);
    },
  );

  it.each([404, 410, 414, 501])('does as the origin says of a %d that must not be stored', async (status) => {
    expect(await twoTenants(front, status, { cacheControl: 'no-store' })).toEqual(own);
    expect(await twoTenants(front, status, { cacheControl: 'private' })).toEqual(own);
  });

  it.each([405, 500, 502, 503, 504])('caches a %d although its origin forbids it', async (status) => {
    expect(await twoTenants(front, status, { cacheControl: 'no-store, no-cache, private' })).toEqual(leaked);
  });

  it('caches nothing that is not asked for with GET or HEAD', async () => {
    expect(await twoTenants(front, 404, { method: 'POST' })).toEqual(own);
    expect(await twoTenants(front, 500, { method: 'DELETE' })).toEqual(own);
  });

  it('answers HEAD with what GET was answered, and not the other way round', async () => {
    const send = (method: string, path: string) => fetch(`${front}/live/web/${path}/status/404`, { method });
    await (await send('GET', 'first')).text();
    expect((await send('HEAD', 'first')).headers.get('x-answered-by')).toBe('the server');
    await send('HEAD', 'second');
    expect(await (await send('GET', 'second')).json()).toMatchObject({ method: 'GET' });
  });
});

describe('a distribution with minimum TTLs', () => {
  let front: string;
  beforeAll(async () => {
    const assembly = await changeAssembly('Web', (resources) => {
      const distribution = Object.values(resources).find(
        ({ Type }) => Type === 'AWS::CloudFront::Distribution',
      );
      const config = distribution?.Properties?.DistributionConfig as Record<string, unknown>;
      config.CustomErrorResponses = [
        ...[404, 500].map((ErrorCode) => ({ ErrorCode, ErrorCachingMinTTL: 0 })),
        { ErrorCode: 503, ErrorCachingMinTTL: 60 },
      ];
    });
    folders.push(assembly);
    front = await startWeb(assembly);
  });

  it('caches no error whose minimum is 0', async () => {
    expect(await twoTenants(front, 404)).toEqual(own);
    expect(await twoTenants(front, 500)).toEqual(own);
  });

  it('caches an error for as long as its minimum says', async () => {
    expect(await twoTenants(front, 503, { secondsBetween: 59.9 })).toEqual(leaked);
    expect(await twoTenants(front, 503, { secondsBetween: 60 })).toEqual(own);
  });

  it('caches what it says nothing of for ten seconds', async () => {
    expect(await twoTenants(front, 502)).toEqual(leaked);
  });
});
