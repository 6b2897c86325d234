import { rm } from 'node:fs/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { changeAssembly } from './fixture/change-assembly.ts';
import { startFixture } from './fixture/start-fixture.ts';

/** Starts a run whose web function has these limits, and returns its address. */
async function startWeb(endpoint: Record<string, object>, perEnvironment = 64): Promise<string> {
  const assembly = await changeAssembly('Web', (resources) => {
    for (const { Type, Properties = {} } of Object.values(resources)) {
      if (Type === 'AWS::Lambda::WebFunctionEndpoint') Object.assign(Properties, endpoint);
      if (Type === 'AWS::Lambda::WebFunctionRevision')
        Object.assign(Properties.ServiceConfig as object, { MaxConcurrencyPerEnvironment: perEnvironment });
    }
  });
  onTestFinished(() => rm(assembly, { recursive: true }));
  const run = await startFixture({ assembly });
  onTestFinished(() => run.close());
  return `${new URL(run.url).origin}/live/web`;
}

const statusesOf = async (count: number, send: () => Promise<Response>): Promise<Record<number, number>> => {
  const statuses: Record<number, number> = {};
  for (let index = 0; index < count; index += 1) {
    const response = await send();
    await response.arrayBuffer();
    statuses[response.status] = (statuses[response.status] ?? 0) + 1;
  }
  return statuses;
};

it('takes as many requests a second as its endpoint may, and says 429 to the others', async () => {
  const web = await startWeb({ ThrottleConfig: { RateLimit: 100 } });
  // Whole milliseconds: differences of fractions would be rounded.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(Math.ceil(performance.now()));
  try {
    expect(await statusesOf(103, () => fetch(`${web}/x`))).toEqual({ 201: 100, 429: 3 });
    clock.mockReturnValue(performance.now() + 20);
    expect(await statusesOf(3, () => fetch(`${web}/x`))).toEqual({ 201: 2, 429: 1 });
    const typeAt = async (path: string) =>
      (await fetch(new URL(path, web))).headers.get('lambda-web-error-type');
    expect(await typeAt('/read/a.txt')).toBe('Platform.Throttled');
    // This path has a response headers policy.
    expect(await typeAt('/live/web/x')).toBeNull();
  } finally {
    clock.mockRestore();
  }
});

it('takes none at a rate of 0', async () => {
  const web = await startWeb({ ThrottleConfig: { RateLimit: 0 } });
  expect(await statusesOf(2, () => fetch(`${web}/x`, { method: 'POST', body: 'x' }))).toEqual({ 429: 2 });
});

it('takes at once what its environments take together, and rejects more without a queue', async () => {
  const web = await startWeb({ ScalingConfig: { MaxEnvironments: 2 } }, 1);
  const silent = [fetch(`${web}/silent`), fetch(`${web}/silent`)];
  await vi.waitFor(async () => expect((await fetch(`${web}/x`)).status).toBe(429), 2500);
  expect((await Promise.all(silent)).map(({ status }) => status)).toEqual([504, 504]);
  expect((await fetch(`${web}/x`)).status).toBe(201);
});
