import { createServer } from 'node:http';
import { runTemplate } from '#local/run-template.ts';
import { playground } from '../../bin/local/playground.ts';
import { compileCacheOf } from './compile-cache.ts';
import { listenLocally } from './listen-locally.ts';
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
  site: playground,
  environment: { OPENAI_BASE_URL: models.url },
  clearAuthorizerCacheOnWrite: true,
  onDenied: (message) => console.error(`Access denied. ${message}`),
});
const violations = await listenLocally(
  createServer((_request, response) => response.end(JSON.stringify(run.violations()))),
);
const { url, endpoints, outputs, physicalIds } = run;
const shared: SharedService = {
  dataDir,
  violationsUrl: violations.url,
  run: { url, endpoints, outputs, physicalIds },
};
console.log(JSON.stringify(shared));
// The service runs until the parent process closes this standard input, or ends.
process.stdin.resume().once('end', async () => {
  await violations.close();
  await run.close();
  await models.close();
  process.exit();
});
