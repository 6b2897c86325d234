import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { processesNaming } from '../command.ts';
import type { StoresOfRun } from '../stored/snapshot.ts';
import type { SoakCommand, SoakServiceOptions, SoakState } from './soak-service.ts';

/** Starts the service in its own process, so that its memory can be measured alone, and that it can be killed. */
export async function startSoakService(options: SoakServiceOptions) {
  // The test process sets AWS_ENDPOINT_URL_DYNAMODB to read tables. The service must start an emulator of its own.
  const { AWS_ENDPOINT_URL_DYNAMODB: _, ...environment } = process.env;
  const child = spawn(
    process.execPath,
    ['--expose-gc', join(import.meta.dirname, 'soak-service.ts'), JSON.stringify(options)],
    { stdio: ['pipe', 'pipe', 'inherit'], env: environment },
  );
  const exit = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { done, value } = await lines.next();
    if (done === true) throw new Error(`The service has ended: ${child.exitCode ?? child.signalCode}`);
    return JSON.parse(value);
  };
  const started = (await next()) as StoresOfRun & { url: string };
  let turn: Promise<unknown> = Promise.resolve();
  const send = (command: SoakCommand): Promise<SoakState> => {
    const response = turn.then(() => {
      child.stdin.write(`${JSON.stringify(command)}\n`);
      return next() as Promise<SoakState>;
    });
    turn = response.catch(() => undefined);
    return response;
  };
  return {
    pid: child.pid ?? 0,
    baseUrl: `${started.url}/v1`,
    stores: started as StoresOfRun,
    /** Ends all threads of the functions whose logical id starts with the prefix. */
    kill: (prefix: string) => send({ kill: prefix }),
    check: () => send({ check: true }),
    async close() {
      child.stdin.end();
      await exit;
    },
    async crash() {
      child.kill('SIGKILL');
      await exit;
      // The emulator ends shortly after the service, and locks the data until then.
      while ((await processesNaming(options.dataDir)).length > 0)
        await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}

export type SoakService = Awaited<ReturnType<typeof startSoakService>>;
