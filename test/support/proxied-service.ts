import { afterEach, beforeEach } from 'vitest';
import { closeAfterTests } from './close-after-tests.ts';
import { dataTableOf } from './data-table.ts';
import { startDynamoProxy } from './dynamo-proxy.ts';
import type { ServiceOptions } from './service.ts';
import { useScriptedService } from './use-service.ts';

/** The response of a table that rejects a call for good. */
export const rejection = { status: 400, body: '{"__type":"ValidationException","message":"scripted"}' };

/**
 * `useScriptedService`, with a proxy between its functions and the table. After each test, the proxy handles calls as
 * before it.
 */
export async function useProxiedService(options: ServiceOptions = {}) {
  const proxy = closeAfterTests(await startDynamoProxy());
  let { handle } = proxy;
  beforeEach(() => {
    ({ handle } = proxy);
  });
  afterEach(() => {
    proxy.handle = handle;
  });
  const scripted = await useScriptedService({
    ...options,
    variables: { AWS_ENDPOINT_URL_DYNAMODB: proxy.url, ...options.variables },
  });
  proxy.emulator = scripted.service.run.endpoints.dynamodb;
  return { ...scripted, proxy, table: closeAfterTests(dataTableOf(scripted.service)) };
}
