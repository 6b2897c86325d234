import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Connection } from '../../../bin/local/connection.ts';
import { browserPath, startBrowser } from '../../support/browser.ts';
import { type RunningCommand, startCommand, startProgram } from '../../support/command.ts';
import type { ScriptedModel } from '../../support/model-server.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';
import type { Tools } from '../languages.ts';
import { publish } from '../openai/scripted-agents.ts';
import { type NextCall, nextCallOf, replyInSteps, usePage } from './use-page.ts';

const root = join(import.meta.dirname, '../../..');

/** Drives the page and the route of docs/examples/use-chat in a browser. Returns the missing tool if there is none. */
export async function testUseChat(tools: Tools): Promise<string | undefined> {
  if (browserPath === undefined) return 'Chromium';
  const folder = join(tools.work, 'use-chat');
  installPage(tools, folder);
  const model = await startScriptedModel();
  const data = join(folder, 'data');
  const service = startCommand(['--port', '0', '--data', data, '--reset'], {
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'scripted',
  });
  const nextCall = () => nextCallOf(model);
  try {
    await service.printed('Ctrl-C');
    const { base_url, api_key, workspace_id } = readConnection(data);
    const helper = await publish(data, workspace_id, { llm_model: 'demo' });
    const unified_tools = [{ type: 'consultant_call_agent', name: 'helper', config: { agent_id: helper } }];
    const agent = await publish(data, workspace_id, { unified_tools });
    const variables = { BASE_URL: base_url, API_KEY: api_key, AGENT_ID: agent };
    await readStream(folder, variables, nextCall);
    await readTitle(folder);
    await nameMissingVariables(folder);
    await drivePage(folder, variables, model);
  } finally {
    service.child.kill('SIGINT');
    await service.ended;
    await model.close();
  }
  return undefined;
}

const readConnection = (data: string): Connection =>
  JSON.parse(readFileSync(join(data, 'connection.json'), 'utf8')) as Connection;

/** Installs the packages and the library, beside copies of the example and of the programs here. */
function installPage({ run }: Tools, folder: string): void {
  const example = join(root, 'docs/examples/use-chat');
  const own = (path: string) => !path.startsWith(join(example, 'node_modules'));
  cpSync(example, folder, { recursive: true, filter: own });
  const manifest = JSON.parse(readFileSync(join(example, 'package.json'), 'utf8'));
  delete manifest.dependencies['@chat-batch/client'];
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'], { folder });
  const library = join(folder, 'node_modules/@chat-batch/client');
  mkdirSync(library, { recursive: true });
  copyFileSync(join(root, 'lib/client/package.json'), join(library, 'package.json'));
  run(process.execPath, [join(root, 'lib/client/build.ts'), join(library, 'dist')]);
  const strict = ['--noEmit', '--strict', '--module', 'nodenext', '--skipLibCheck', '--ignoreConfig'];
  run(join(root, 'node_modules/.bin/tsc'), [...strict, 'types.mts'], { folder });
}

/** What the AI SDK's reader makes of a reply with a step. */
async function readStream(
  folder: string,
  variables: Record<string, string>,
  nextCall: NextCall,
): Promise<void> {
  const replied = replyInSteps(nextCall, async () => undefined);
  const { code, stdout, stderr } = await startProgram(
    [process.execPath, join(folder, 'read-stream.mjs')],
    variables,
  ).ended;
  assert.equal(code, 0, stderr);
  await replied;
  const { id, role, parts, metadata } = JSON.parse(stdout);
  assert.deepEqual([id, role], [String(metadata.messageId), 'assistant']);
  assert.deepEqual(
    parts.map(({ type, text, data }: { type: string; text?: string; data?: { ended_at: string } }) =>
      type === 'text' ? text : [type, data?.ended_at !== null],
    ),
    ['I look. ', ['data-agent-step', true], 'One two'],
  );
  assert.equal(metadata.usage.total_calls, 3);
}

/** What the state of `useChat` has of a title that comes after the text. */
async function readTitle(folder: string): Promise<void> {
  const { code, stdout, stderr } = await startProgram([process.execPath, join(folder, 'read-title.mjs')])
    .ended;
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), {
    status: 'ready',
    text: 'Hello',
    metadata: { chatId: 7, messageId: 9, responseId: 'resp_1', usage: { total_calls: 2 } },
    titles: ['Greetings'],
  });
}

/** Runs the example as its user does, with `npm start`. */
const startPage = (folder: string, variables: Record<string, string>) =>
  startProgram(
    ['/bin/env', `--chdir=${folder}`, 'npm', 'start'],
    { PORT: '0', ...variables },
    'ignore',
    true,
  );

async function endPage(server: RunningCommand): Promise<void> {
  process.kill(-(server.child.pid ?? 0));
  await server.ended;
}

async function nameMissingVariables(folder: string): Promise<void> {
  const server = startPage(folder, { BASE_URL: 'http://127.0.0.1:9', API_KEY: '' });
  server.printed('http://').then(
    () => endPage(server),
    () => undefined,
  );
  const { code, stderr } = await server.ended;
  assert.equal(code, 1);
  assert.match(stderr, /Set the variables API_KEY, AGENT_ID: docs/);
  assert.doesNotMatch(stderr, /\n +at /);
}

async function drivePage(
  folder: string,
  variables: Record<string, string>,
  model: ScriptedModel,
): Promise<void> {
  let server = startPage(folder, variables);
  await server.printed('http://');
  const address = /http:\S+/.exec(server.output())?.[0] ?? '';
  const restart = async () => {
    server = startPage(folder, { ...variables, PORT: new URL(address).port });
    await server.printed('http://');
  };
  const browser = await startBrowser();
  try {
    const { page, problems } = await browser.open();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(`${request.method()} ${request.url()}`));
    await page.goto(address);
    const nextCall = () => nextCallOf(model);
    await usePage({ page, model, requests, nextCall, stopServer: () => endPage(server), restart });
    assert.deepEqual(
      // Of rejected requests, and while the server of the page is gone.
      problems.filter((problem) => !/status of (400|404)|net::ERR_/.test(problem)),
      [],
    );
  } finally {
    await browser.close();
    await endPage(server);
  }
}
