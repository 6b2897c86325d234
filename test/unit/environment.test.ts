import { afterEach, expect, it, vi } from 'vitest';
import { environment } from '#runtime/environment/environment.ts';
import { variables } from '#runtime/environment/variables.ts';

afterEach(() => vi.unstubAllEnvs());

const complete = 'reads=20/s:40,writes=5/s:10,sends=2/s:5,uploads=2/s:5,batches=10/m,open-batches=10';

it.each([
  ['stageLimits', 'reads=20/s:40'],
  ['stageLimits', complete.replace('20/s', '20')],
  ['stageLimits', undefined],
  ['webhookRetrySeconds', '5,soon'],
  ['outboundAllow', 'a host'],
  ['batchQueueUrl', 'nowhere'],
  ['purgeQueueUrl', 'nowhere'],
  ['leaseSeconds', '0'],
  ['dataTable', ''],
] as const)('names the variable of %s when it is %j', (name, value) => {
  vi.stubEnv(variables[name], value);
  expect(() => environment(name)).toThrow(
    new Error(`The environment variable ${variables[name]} is missing or malformed`),
  );
});
