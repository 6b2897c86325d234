import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { processesNaming } from './command.ts';
import type { RunningService, RunServiceOptions } from './run-service.ts';

/** Starts the service in its own process, which ends with `kill`, or with the process that started it. */
export async function startKillableService(options: RunServiceOptions) {
  // The test process sets AWS_ENDPOINT_URL_DYNAMODB to read tables. The service must start an emulator of its own.
  const { AWS_ENDPOINT_URL_DYNAMODB: _, ...environment } = process.env;
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'run-service.ts'), JSON.stringify(options)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: environment,
    },
  );
  const exit = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line'), exit]);
  if (child.exitCode !== null) throw new Error(`The service did not start: exit code ${child.exitCode}`);
  return {
    ...(JSON.parse(String(first[0])) as RunningService),
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await exit;
      // The emulator ends shortly after the service, and locks the data until then.
      while ((await processesNaming(options.dataDir)).length > 0)
        await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}
