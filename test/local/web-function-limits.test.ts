import { rm } from 'node:fs/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { changeAssembly } from './fixture/change-assembly.ts';
import { type FixtureRun, startFixture } from './fixture/start-fixture.ts';

/** Starts a run whose web function has these limits. */
async function startRun(
  endpoint: Record<string, object>,
  perEnvironment = 64,
  environmentsPerThread: Record<string, number> = {},
): Promise<FixtureRun> {
  const assembly = await changeAssembly('Web', (resources) => {
    for (const { Type, Properties = {} } of Object.values(resources)) {
      if (Type === 'AWS::Lambda::WebFunctionEndpoint') Object.assign(Properties, endpoint);
      if (Type === 'AWS::Lambda::WebFunctionRevision')
        Object.assign(Properties.ServiceConfig as object, { MaxConcurrencyPerEnvironment: perEnvironment });
    }
  });
  onTestFinished(() => rm(assembly, { recursive: true }));
  const run = await startFixture({ assembly, environmentsPerThread });
  onTestFinished(() => run.close());
  return run;
}

const addressOf = ({ url }: FixtureRun): string => `${new URL(url).origin}/live/web`;

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
  const web = addressOf(await startRun({ ThrottleConfig: { RateLimit: 100 } }));
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
  const web = addressOf(await startRun({ ThrottleConfig: { RateLimit: 0 } }));
  expect(await statusesOf(2, () => fetch(`${web}/x`, { method: 'POST', body: 'x' }))).toEqual({ 429: 2 });
});

it.each([
  [2, 1],
  [1, 2],
])(
  'takes at once what its %i threads for %i environments each take together, and rejects more without a queue',
  async (threads, each) => {
    const run = await startRun({ ScalingConfig: { MaxEnvironments: 2 } }, 1, { Server: each });
    const web = addressOf(run);
    const silent = [fetch(`${web}/silent`), fetch(`${web}/silent`)];
    await vi.waitFor(async () => expect((await fetch(`${web}/x`)).status).toBe(429), 2500);
    expect(run.workers().filter(({ functionName, busy }) => busy && /web/i.test(functionName))).toHaveLength(
      threads,
    );
    expect((await Promise.all(silent)).map(({ status }) => status)).toEqual([504, 504]);
    expect((await fetch(`${web}/x`)).status).toBe(201);
  },
);

it('reports a request that begins after all responses have ended, and ends an environment without memory', async () => {
  const run = await startRun({});
  const web = addressOf(run);
  expect((await fetch(`${web}/x`)).status).toBe(201);
  expect(run.violations()).toEqual([]);
  expect((await fetch(`${web}/late`)).status).toBe(200);
  await vi.waitFor(
    () =>
      expect(run.violations()).toEqual([
        expect.stringMatching(/^web\w*: GET http:\/\/127.0.0.1:2\/ began after all responses had ended$/i),
      ]),
    60_000,
  );
  expect((await fetch(`${web}/hold`)).status).toBe(502);
  expect(run.violations()[1]).toMatch(/^web\w* held 21\d\d MB of 2048 MB$/i);
  expect((await fetch(`${web}/x`)).status).toBe(201);
});
