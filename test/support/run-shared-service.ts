import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runTemplate } from '#local/run-template.ts';

/** What test files are told of the service that they share. */
export interface SharedService {
  dataDir: string;
  /** Answers with what functions did that AWS would not have let them do, as a JSON array of text. */
  violationsUrl: string;
  run: { url: string } & Record<'endpoints' | 'outputs' | 'physicalIds', Record<string, string>>;
}

// A process of its own, so that neither the tests' runner nor a test file holds up its answers.
const [assembly = '', dataDir = ''] = process.argv.slice(2);
const run = await runTemplate({
  assembly,
  dataDir,
  port: 0,
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
// Until whoever started it lets go of its standard input, be it by its own end.
process.stdin.resume().once('end', async () => {
  server.close();
  await run.close();
  process.exit();
});
