import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { promisify } from 'node:util';
import { processTree } from '#support/process-tree.ts';
import { type Connection, readConnection } from '../../bin/local/connection.ts';
import type { MemoryPart } from '../../bin/local/memory-by-part.ts';
import { endChild, hasEnded } from './child-program.ts';
import { loadClientOf, type Target } from './load-client.ts';
import { seedServicePages } from './seed-service-pages.ts';
import type { StartedSubject, SubjectOptions } from './subject.ts';

const project = resolve(import.meta.dirname, '../..');

/** A cold start takes a minute on a busy machine. */
const startSeconds = 180;
const pollMilliseconds = 20;
/** Busy threads report their memory late. */
const memorySeconds = 30;

const agentDefinition = {
  name: 'Bench',
  description: '',
  system_prompt: 'You are helpful.',
  llm_model: 'openai:scripted',
};

/** The command of the script `start` in package.json: npm itself would be one more process. */
const command = ['--max-semi-space-size=16', join(project, 'bin/local.ts')];

/** Starts what `npm start` runs, in its own process and with its own data folder. */
export async function startService({ folder, model }: SubjectOptions): Promise<StartedSubject> {
  const data = join(folder, 'data');
  const log = join(folder, 'service.log');
  await mkdir(data, { recursive: true });

  let child: ChildProcess | undefined;
  let isClosed = false;
  const start = async () => {
    const output = await open(log, 'a');
    if (isClosed) throw new Error('The service has been ended');
    const from = performance.now();
    const own = spawn(process.execPath, [...command, '--port', '0', '--data', data], {
      cwd: project,
      env: { ...environment(), OPENAI_BASE_URL: model, OPENAI_API_KEY: 'bench' },
      stdio: ['ignore', output.fd, output.fd],
    });
    child = own;
    await output.close();
    try {
      const connection = await connectionOf(own, data);
      const target = {
        baseUrl: connection.base_url,
        apiKey: connection.api_key,
        agentId: connection.agent_id,
      };
      const client = loadClientOf(target);
      await client.readPage('/chats');
      client.close();
      return { pid: own.pid ?? 0, connection, target, seconds: (performance.now() - from) / 1000 };
    } catch (error) {
      await end(own, data);
      throw new Error(`The service did not start: ${error}\n${await readFile(log, 'utf8')}`);
    }
  };

  const close = async () => {
    isClosed = true;
    if (child !== undefined) await end(child, data);
  };

  let running = await start();
  const { seconds: firstStart } = running;
  let agentId: string;
  try {
    agentId = await publishAgent(folder, data, running.connection);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    firstStart,
    subject: {
      name: 'service',
      get pid() {
        return running.pid;
      },
      get target(): Target {
        return { ...running.target, agentId };
      },
      async memoryByPart() {
        const file = join(data, 'memory.json');
        await rm(file, { force: true });
        process.kill(running.pid, 'SIGUSR2');
        for (const end = performance.now() + memorySeconds * 1000; performance.now() < end; ) {
          const text = await readFile(file, 'utf8').catch(() => undefined);
          if (text !== undefined) return JSON.parse(text) as MemoryPart[];
          await after(pollMilliseconds);
        }
        throw new Error(`The service has not reported its memory after ${memorySeconds} s`);
      },
      seedPages: () => seedServicePages(running.connection, agentId),
      async restart() {
        if (child !== undefined) await end(child, data);
        running = await start();
        return running.seconds;
      },
      close,
    },
  };
}

/** The environment without variables that would make a run use other emulators or models. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(AWS_|OPENAI_|BRAVE_|SEARXNG_|NODE_OPTIONS$)/.test(name),
    ),
  );

/**
 * Waits for the connection file of this process. The service writes it before it serves requests; a file of an earlier
 * start has another process id.
 */
async function connectionOf(child: ChildProcess, data: string): Promise<Connection> {
  for (const end = performance.now() + startSeconds * 1000; performance.now() < end; ) {
    if (hasEnded(child)) throw new Error(`it ended with code ${child.exitCode}`);
    // Reading fails while the file is being written.
    const connection = await readConnection(data).catch(() => undefined);
    if (connection !== undefined && connection.pid === child.pid) return connection;
    await after(pollMilliseconds);
  }
  throw new Error(`no connection file after ${startSeconds} s`);
}

async function publishAgent(folder: string, data: string, { workspace_id }: Connection): Promise<string> {
  const file = join(folder, 'agent.json');
  await writeFile(file, JSON.stringify(agentDefinition));
  const agentctl = async (...words: string[]): Promise<{ agent_id: string }> => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(project, 'bin/agentctl.ts'), ...words, '--data', data, '--json'],
      { env: environment(), timeout: startSeconds * 1000 },
    );
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { agent_id: string };
  };
  const { agent_id } = await agentctl('agents', 'create', '--workspace', workspace_id, '--file', file);
  await agentctl('agents', 'publish', agent_id);
  return agent_id;
}

/** Ends a run. A run ends its emulators itself, except after SIGKILL: then they are killed here. */
async function end(child: ChildProcess, data: string): Promise<void> {
  const own = await processTree(child.pid ?? 0);
  await endChild(child);
  for (const { pid } of own) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(data)) process.kill(pid, 'SIGKILL');
  }
}
