import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runTemplate } from '#local/run-template.ts';
import { compileCacheOf } from './compile-cache.ts';
import { startModelRouter } from './model-router.ts';

/** What test files know of the service that they share. */
export interface SharedService {
  dataDir: string;
  /** Responds with everything that functions did and AWS would not have allowed, as a JSON array of texts. */
  violationsUrl: string;
  run: { url: string } & Record<'endpoints' | 'outputs' | 'physicalIds', Record<string, string>>;
}

// The shared service has its own process, so that neither the test runner nor a test file delays its responses.
const [assembly = '', dataDir = ''] = process.argv.slice(2);
const models = await startModelRouter();
const run = await runTemplate({
  assembly,
  compileCacheFolder: compileCacheOf(assembly),
  dataDir,
  port: 0,
  environment: { OPENAI_BASE_URL: models.url },
  clearAuthorizerCacheOnWrite: true,
  onDenied: (message) => console.error(`Access denied. ${message}`),
});
const server = createServer((_request, response) => response.end(JSON.stringify(run.violations())));
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
const { url, endpoints, outputs, physicalIds } = run;
const shared: SharedService = {
  dataDir,
  violationsUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  run: { url, endpoints, outputs, physicalIds },
};
console.log(JSON.stringify(shared));
// The service runs until the parent process closes this standard input, or ends.
process.stdin.resume().once('end', async () => {
  server.close();
  await run.close();
  models.close();
  process.exit();
});
