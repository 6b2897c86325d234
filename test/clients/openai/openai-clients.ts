import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from '../../../bin/cost/markdown-table.ts';
import type { Connection } from '../../../bin/local/connection.ts';
import { startCommand, startProgram } from '../../support/command.ts';
import { pngOf } from '../../support/image-bytes.ts';
import { type OpenAiModel, startScriptedModel } from '../../support/scripted-model.ts';
import type { Tools } from '../languages.ts';
import { type CountingProxy, startCountingProxy } from './counting-proxy.ts';
import { formClients, formColumns, formResults } from './form-clients.ts';
import {
  callsOfOneRun,
  createAgents,
  createLimited,
  messageOf,
  replyByScript,
  streamedFailure,
} from './scripted-agents.ts';

const checks = [
  'models',
  'plain',
  'stream',
  'steps',
  'wrong key',
  'unknown model',
  'rate limit',
  'broken stream',
  'image',
  'paid once',
] as const;
type Check = (typeof checks)[number];

/** A folder with the packages of clients. Instructor needs an older `jiter` than the other clients. */
export type PackageFolder = 'node' | 'python' | 'instructor' | 'promptfoo';

interface Client {
  name: string;
  folder: PackageFolder;
  program: string;
  /** What it cannot do. docs/openai.md has the reasons. */
  lacks: readonly Check[];
}

const clients: readonly Client[] = [
  { name: 'openai, Node.js', folder: 'node', program: 'openai.mjs', lacks: [] },
  { name: 'openai, Python', folder: 'python', program: 'openai_sdk.py', lacks: [] },
  { name: '@langchain/openai', folder: 'node', program: 'langchain.mjs', lacks: ['models'] },
  { name: 'langchain-openai', folder: 'python', program: 'langchain_openai_model.py', lacks: ['models'] },
  { name: 'ai', folder: 'node', program: 'ai-sdk.mjs', lacks: ['models'] },
  { name: 'llm', folder: 'python', program: 'llm_command.py', lacks: [] },
  {
    name: 'promptfoo',
    folder: 'promptfoo',
    program: 'promptfoo.mjs',
    lacks: ['models', 'stream', 'broken stream'],
  },
];

type Install = (tools: Tools, folder: string) => string | undefined;

const installPackages: Install = ({ run }, folder) => {
  run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--omit=optional', '--no-package-lock'],
    { folder },
  );
  return undefined;
};

const installInPython: Install = ({ run, has }, folder) => {
  if (!has('python3', '-c', 'import sys, venv; assert sys.version_info >= (3, 11)')) return 'Python 3.11';
  run('python3', ['-m', 'venv', 'venv'], { folder });
  const requirements = ['--requirement', 'requirements.txt'];
  run('venv/bin/pip', ['install', '-q', '--disable-pip-version-check', ...requirements], { folder });
  return undefined;
};

/** Each installs the packages of its folder, or returns the missing tool. */
const installers: Readonly<Record<PackageFolder, Install>> = {
  node: installPackages,
  promptfoo: installPackages,
  python: installInPython,
  instructor: installInPython,
};

/**
 * Drives the clients of OpenAI's chat completions through their checks, and prints a table of both.
 * @throws Error with each check that has failed
 */
export async function testOpenAiClients(tools: Tools): Promise<void> {
  const folder = join(tools.work, 'openai');
  copyFileSync(join(folder, 'node/run-checks.mjs'), join(folder, 'promptfoo/run-checks.mjs'));
  for (const module of ['forms.py', 'run_checks.py'])
    copyFileSync(join(folder, 'python', module), join(folder, 'instructor', module));
  writeFileSync(
    join(folder, 'image.png'),
    pngOf({ width: 2, height: 2 }, () => undefined),
  );
  const model = await startScriptedModel();
  model.onCall = replyByScript;
  const data = join(folder, 'data');
  const service = startCommand(
    // The run whose model stays silent ends after three seconds. The service waits up to two before it calls a model again.
    ['--port', '0', '--data', data, '--reset', '--set', 'streamTimeoutSeconds=3'],
    { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'scripted' },
  );
  try {
    const missing = Object.fromEntries(
      Object.entries(installers).map(([name, install]) => [name, install(tools, join(folder, name))]),
    );
    await service.printed('Ctrl-C');
    const target = await openTarget(folder, data);
    const lines: string[][] = [];
    const errors: string[] = [];
    for (const client of clients) {
      const tool = missing[client.folder];
      const results = tool === undefined ? await driveClient(client, folder, target, model) : new Map();
      if (tool !== undefined) console.log(`openai, ${client.name}: skipped, ${tool} is missing`);
      for (const [check, error] of results)
        if (error !== null) errors.push(`${client.name}, ${check}: ${error}`);
      lines.push([client.name, ...checks.map((check) => cellOf(client, check, results))]);
    }
    console.log(markdownTable([['openai', ...checks], ...lines]));
    const formLines: string[][] = [];
    for (const client of formClients) {
      if (missing[client.folder] !== undefined) continue;
      model.calls.length = 0;
      const { results, proxy } = await runProgram(client, folder, target);
      const found = formResults(client, results, await Promise.all(proxy.bodies), model.calls);
      formLines.push(...found.lines);
      errors.push(...found.errors);
    }
    console.log(markdownTable([['forms', ...formColumns], ...formLines]));
    if (errors.length > 0) throw new Error(errors.join('\n'));
  } finally {
    service.child.kill('SIGINT');
    await service.ended;
    await model.close();
  }
}

/** What the checks say: an error, or null. */
type Results = Map<string, string | null>;

function cellOf({ lacks }: Client, check: Check, results: Results): string {
  const error = results.get(check);
  if (lacks.includes(check)) return '–';
  return error === undefined ? 'skipped' : error === null ? 'passed' : 'failed';
}

interface Target {
  data: string;
  /** The base address of the service. */
  baseUrl: URL;
  variables: Record<string, string>;
}

async function openTarget(folder: string, data: string): Promise<Target> {
  const connection = JSON.parse(readFileSync(join(data, 'connection.json'), 'utf8')) as Connection;
  const agents = await createAgents(data, connection.workspace_id);
  return {
    data,
    baseUrl: new URL(connection.base_url),
    variables: { KEY: connection.api_key, IMAGE: join(folder, 'image.png'), ...agents },
  };
}

/** Runs the program of a client, behind a proxy of its own. */
async function runProgram(
  { folder: language, program }: Pick<Client, 'folder' | 'program'>,
  folder: string,
  { baseUrl, variables }: Target,
): Promise<{ results: Results; stderr: string; proxy: CountingProxy }> {
  const proxy = await startCountingProxy(baseUrl.port);
  const python = join(folder, language, 'venv/bin/python');
  const interpreter = program.endsWith('.py') ? python : process.execPath;
  const { stdout, stderr } = await startProgram([interpreter, join(folder, language, program)], {
    ...variables,
    BASE: `${proxy.url}${baseUrl.pathname}`,
  }).ended;
  await proxy.close();
  const lines = stdout
    .split('\n')
    .filter((line) => line.startsWith('{"check"'))
    .map((line) => JSON.parse(line) as { check: string; error: string | null });
  return { results: new Map(lines.map(({ check, error }) => [check, error])), stderr, proxy };
}

/** Adds an error for each check that is missing, and for calls that were repeated. */
async function driveClient(
  client: Client,
  folder: string,
  target: Target,
  model: Pick<OpenAiModel, 'calls'>,
): Promise<Results> {
  const { lacks } = client;
  model.calls.length = 0;
  const variables = { ...target.variables, ...(await createLimited(target.data)) };
  const { results, stderr, proxy } = await runProgram(client, folder, { ...target, variables });
  for (const check of checks)
    if (results.has(check) === lacks.includes(check))
      results.set(check, `It was not run, or not expected\n${stderr}`);
  if (!lacks.includes('rate limit') && !proxy.counts.has(429)) results.set('rate limit', 'There was no 429');
  for (const [message, expected] of Object.entries(callsOfOneRun)) {
    const calls = model.calls.filter((call) => messageOf(call) === message).length;
    const isSent = message !== streamedFailure || !lacks.includes('stream');
    if (calls !== (isSent ? expected : 0))
      results.set('paid once', `${message} called the model ${calls} times`);
  }
  return results;
}
