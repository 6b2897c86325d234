import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openExclusively } from '../data/lock.ts';
import { reasonOf } from '../data/state-file.ts';
import { type Address, claimPort, findFreeAddress, releasePort } from '../wire/listen-on-loopback.ts';

export interface Emulator {
  readonly endpoint: string;
  readonly isEmbedded: boolean;
  close(): Promise<void>;
}

// The emulator ends when the pipe to this process breaks, however this process ends. The shell waits for the emulator,
// so that this process notices if the emulator ends.
const UNTIL_PIPE_BREAKS = `
exec 3<&0
"$@" </dev/null &
emulator=$!
(cat <&3 >/dev/null; kill "$emulator" 2>/dev/null) &
exec 3<&-
wait "$emulator"
`;

const START_TIMEOUT_MILLISECONDS = 10_000;

// Another process may take a free port before the emulator listens on it.
const MAX_ATTEMPTS = 5;

/**
 * @throws the errors of `openExclusively`; Error if another program uses the file, or if the emulator does not start
 */
export async function startDynoxide(program: string, databaseFile: string): Promise<Emulator> {
  await untilClosed(databaseFile);
  for (let attempt = 1; ; attempt += 1)
    try {
      return await startAt(await findFreeAddress(), program, databaseFile);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !String(error).includes('already in use')) throw error;
    }
}

/** The emulator of a killed run ends shortly after the run, and may still write until then. */
async function untilClosed(databaseFile: string): Promise<void> {
  if (!existsSync(databaseFile)) return;
  const stopAt = Date.now() + START_TIMEOUT_MILLISECONDS;
  for (;;) {
    const release = openExclusively(databaseFile);
    if (release) return release();
    if (Date.now() >= stopAt)
      throw new Error(`${databaseFile} is open in another program: close it and start again`);
    await sleep(5);
  }
}

async function startAt({ host, port }: Address, program: string, databaseFile: string): Promise<Emulator> {
  const child = spawn(
    'sh',
    [
      ...['-c', UNTIL_PIPE_BREAKS, 'sh', program, 'serve'],
      ...['--host', host, '--port', String(port), '--db-path', databaseFile],
    ],
    {
      // A session of its own, so that Ctrl-C does not reach the emulator: it must end after its callers.
      detached: true,
      // With three concurrent calls, a call took 0.31 ms of processor time with two threads, 0.23 ms with one.
      env: { ...process.env, TOKIO_WORKER_THREADS: '1' },
    },
  );
  let ended = false;
  let output = '';
  const collectOutput = (text: string) => {
    output = (output + text).slice(-1000);
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', collectOutput);
  child.stdin.on('error', () => {});
  const exit = new Promise<void>((resolve) => {
    child.on('exit', () => resolve());
    child.on('error', (error) => {
      output = `sh cannot be run: ${reasonOf(error)}`;
      resolve();
    });
  }).then(() => {
    ended = true;
  });
  const endpoint = `http://${host}:${port}`;
  const stopAt = Date.now() + START_TIMEOUT_MILLISECONDS;
  // Another program may respond at the port, so the emulator must also have printed that it listens.
  while (!output.includes('listening on') || !(await responds(endpoint))) {
    if (!ended && Date.now() < stopAt) {
      await sleep(5);
      continue;
    }
    child.stdin.end();
    throw new Error(
      `The DynamoDB emulator did not start: ${output.trim().replace(/\s*\n\s*/g, ' ') || 'no reason given'}`,
    );
  }
  claimPort(port);
  return {
    endpoint,
    isEmbedded: true,
    async close() {
      child.stdin.end();
      await exit;
      releasePort(port);
    },
  };
}

async function responds(endpoint: string): Promise<boolean> {
  try {
    const response = await fetch(endpoint, { headers: { connection: 'close' } });
    return (await response.text()).startsWith('healthy');
  } catch {
    return false;
  }
}
