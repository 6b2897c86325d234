import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { openExclusively } from '../data/lock-file.ts';
import { claimPort, releasePort } from '../wire/own-ports.ts';

export interface Emulator {
  readonly endpoint: string;
  /** It is the one that `emulatorConnections` knows to talk to. */
  readonly isEmbedded: boolean;
  close(): Promise<void>;
}

// The engine ends when the pipe to this process breaks, however this process came to its end. The shell waits
// for the engine, so that an engine that fails by itself is seen as well.
const UNTIL_PIPE_BREAKS = `
exec 3<&0
"$@" </dev/null &
engine=$!
(cat <&3 >/dev/null; kill "$engine" 2>/dev/null) &
exec 3<&-
wait "$engine"
`;

const START_TIMEOUT_MILLISECONDS = 10_000;

// Between the moment when a port is found free and the engine's start somebody else may take it.
const PORTS_TO_TRY = 5;

/** Starts the embedded DynamoDB engine on a free port. */
export async function startDynoxide(databaseFile: string): Promise<Emulator> {
  const binary = findBinary();
  await untilClosed(databaseFile);
  for (let attempt = 1; ; attempt += 1)
    try {
      return await startAt(await findFreePort(), binary, databaseFile);
    } catch (error) {
      if (attempt === PORTS_TO_TRY || !String(error).includes('already in use')) throw error;
    }
}

/** The engine of a run that was killed ends a moment after it, and may still be writing until then. */
async function untilClosed(databaseFile: string): Promise<void> {
  if (!existsSync(databaseFile)) return;
  const stopAt = Date.now() + START_TIMEOUT_MILLISECONDS;
  for (;;) {
    const release = openExclusively(databaseFile);
    if (release) return release();
    if (Date.now() >= stopAt)
      throw new Error(`${databaseFile} is open in another program: close it and start again`);
    await after(5);
  }
}

async function startAt(port: number, binary: string, databaseFile: string): Promise<Emulator> {
  const child = spawn(
    'sh',
    ['-c', UNTIL_PIPE_BREAKS, 'sh', binary, 'serve', '--port', String(port), '--db-path', databaseFile],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      // A session of its own: Ctrl-C in a terminal reaches this process, which then ends the engine in its turn.
      detached: true,
      // Of Tokio, on which the engine runs. One connection to SQLite does the work, so a second thread adds waits and wakes:
      // with three calls at once a call took 0.31 ms of processor on two threads, 0.23 ms on one.
      env: { ...process.env, TOKIO_WORKER_THREADS: '1' },
    },
  );
  let ended = false;
  let said = '';
  const listen = (text: string) => {
    said = (said + text).slice(-1000);
  };
  child.stdout.setEncoding('utf8').on('data', listen);
  child.stderr.setEncoding('utf8').on('data', listen);
  child.stdin.on('error', () => {});
  const exit = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      said = String(error);
      ended = true;
      resolve();
    });
    child.on('exit', () => {
      ended = true;
      resolve();
    });
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const stopAt = Date.now() + START_TIMEOUT_MILLISECONDS;
  // What answers at a port may be somebody else's engine, so ours has to have said that it listens.
  while (!said.includes('listening on') || !(await responds(endpoint))) {
    if (!ended && Date.now() < stopAt) {
      await after(5);
      continue;
    }
    child.stdin.end();
    throw new Error(
      `The DynamoDB engine did not start: ${said.trim().replace(/\s*\n\s*/g, ' ') || 'no reason given'}`,
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

function findBinary(): string {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return path.join(path.dirname(manifest), process.platform === 'win32' ? 'dynoxide.exe' : 'dynoxide');
  } catch {
    throw new Error(
      `The DynamoDB engine ${name} is not installed: run npm install, or set AWS_ENDPOINT_URL_DYNAMODB to another one`,
    );
  }
}

async function responds(endpoint: string): Promise<boolean> {
  try {
    const response = await fetch(endpoint, { headers: { connection: 'close' } });
    return (await response.text()).startsWith('healthy');
  } catch {
    return false;
  }
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
