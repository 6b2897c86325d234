import { join } from 'node:path';
import { runTemplate } from '@chat-batch/local';
import { build } from 'esbuild';
import { expect, it, vi } from 'vitest';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { synthesizeExample } from './example/app.ts';

// Everything that the README of the package shows: an app that knows nothing of this runner, and calls over HTTP.
const folder = await temporaryFolder('local-example-');
await build({
  entryPoints: [join(import.meta.dirname, 'example/handlers.ts')],
  outfile: join(folder, 'code/handlers.mjs'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  mainFields: ['module', 'main'],
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
});
const assembly = join(folder, 'assembly');
synthesizeExample(join(folder, 'code'), assembly);
const run = closeAfterTests(await runTemplate({ assembly, dataDir: join(folder, 'data'), port: 0 }));

const call = async (method: string, path: string, body?: string) => {
  const response = await fetch(`${run.url}/${path}`, { method, ...(body !== undefined && { body }) });
  return { status: response.status, body: await response.json() };
};

it('runs a REST API, functions, a table, a queue and a bucket of another app', async () => {
  expect(await call('PUT', 'notes/first', 'Hello')).toEqual({ status: 200, body: { id: 'first' } });
  await vi.waitFor(
    async () => expect((await call('GET', 'notes/first')).body).toEqual({ text: 'Hello', copy: 'Hello' }),
    60_000,
  );
  expect((await call('GET', 'elsewhere')).status).toBe(403);
});

it('runs its rule at the start, and its state machine', async () => {
  await vi.waitFor(
    async () => expect((await call('GET', 'notes/scheduled')).body).toMatchObject({ text: 'by a rule' }),
    60_000,
  );
  expect(await call('POST', 'count')).toEqual({
    status: 200,
    body: { status: 'SUCCEEDED', output: { count: 2 } },
  });
});

it('tells addresses and outputs, and finds nothing that would fail in AWS', () => {
  expect(run.endpoints.dynamodb).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(run.outputs.BucketName).toMatch(/^notes-bucket/);
  expect(run.violations()).toEqual([]);
});
