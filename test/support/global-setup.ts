import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestProject } from 'vitest/node';
import { synthesize } from '../../bin/local/synthesize.ts';
import { certificate } from './certificate.ts';
import type { SharedService } from './run-shared-service.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the synthesized template that test files run. */
    assembly: string;
    sharedService: SharedService;
  }
}

/** Synthesizes the local stage once for all test files, and starts the service that files without own options share. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'service-assembly-'));
  const assembly = join(folder, 'assembly');
  // The tests of a project see its variables; this process does not.
  const webFunctions = project.config.env?.WEB_FUNCTIONS ?? process.env.WEB_FUNCTIONS ?? 'all';
  // Tests of batches count on four workers, however many suit one machine best.
  await synthesize(assembly, { webFunctions, batchWorkers: 4 });
  project.provide('assembly', assembly);
  // Node.js reads the variable when a process starts. The test files' processes start after this and so trust the
  // webhook receivers.
  process.env.NODE_EXTRA_CA_CERTS = join(folder, 'authority.pem');
  await writeFile(process.env.NODE_EXTRA_CA_CERTS, certificate.cert);
  const { shared, stop } = await runShared(assembly, join(folder, 'data'), project.config.execArgv);
  project.provide('sharedService', shared);
  return async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  };
}

async function runShared(assembly: string, dataDir: string, execArgv: readonly string[]) {
  const program = join(import.meta.dirname, 'run-shared-service.ts');
  const child = spawn(process.execPath, [...execArgv, program, assembly, dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  const first = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), exit]);
  if (child.exitCode !== null)
    throw new Error(`The shared service did not start: exit code ${child.exitCode}`);
  return {
    shared: JSON.parse(String(first[0])) as SharedService,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error('The shared service ended before the tests did');
      child.stdin.end();
      await exit;
    },
  };
}
