import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { runTemplate } from '#local/run-template.ts';
import { operatorCalls } from '../../bin/local/operator-calls.ts';
import { playground } from '../../bin/local/playground.ts';
import { useLocalResources, useLocalTable } from '../../bin/operator.ts';
import { compileCacheOf } from './compile-cache.ts';
import { listenLocally } from './listen-locally.ts';
import { startModelRouter } from './model-router.ts';

/** What test files know of the service that they share. */
export interface SharedService {
  dataDir: string;
  /** Responds with everything that functions did and AWS would not have allowed, as a JSON array of texts. */
  violationsUrl: string;
  /** Lets pages write agents: local/site/serve-site.ts. */
  operatorToken: string;
  run: { url: string } & Record<'endpoints' | 'outputs' | 'physicalIds', Record<string, string>>;
}

// The shared service has its own process, so that neither the test runner nor a test file delays its responses.
const [assembly = '', dataDir = ''] = process.argv.slice(2);
const operatorToken = randomUUID();
const models = await startModelRouter();
const run = await runTemplate({
  assembly,
  compileCacheFolder: compileCacheOf(assembly),
  dataDir,
  port: 0,
  site: { ...playground, calls: operatorCalls(operatorToken) },
  environment: { OPENAI_BASE_URL: models.url },
  clearAuthorizerCacheOnWrite: true,
  onDenied: (message) => console.error(`Access denied. ${message}`),
});
useLocalTable(run.outputs.DataTableName ?? '', run.endpoints.dynamodb);
useLocalResources({
  test_agent_function: run.outputs.TestAgentFunctionArn ?? '',
  lambda_endpoint: run.endpoints.lambda,
});
const violations = await listenLocally(
  createServer((_request, response) => response.end(JSON.stringify(run.violations()))),
);
const { url, endpoints, outputs, physicalIds } = run;
const shared: SharedService = {
  dataDir,
  violationsUrl: violations.url,
  operatorToken,
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
