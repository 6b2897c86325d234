import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Connection } from '../../../bin/local/connection.ts';
import { browserPath, startBrowser } from '../../support/browser.ts';
import { startCommand, startProgram } from '../../support/command.ts';
import type { ModelCall } from '../../support/model-server.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';
import type { Tools } from '../languages.ts';
import { publish } from '../openai/scripted-agents.ts';

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
  const nextCall = () =>
    new Promise<ModelCall>((resolve) => {
      model.onCall = resolve;
    });
  try {
    await service.printed('Ctrl-C');
    const { base_url, api_key, workspace_id } = readConnection(data);
    const helper = await publish(data, workspace_id, { llm_model: 'demo' });
    const unified_tools = [{ type: 'consultant_call_agent', name: 'helper', config: { agent_id: helper } }];
    const agent = await publish(data, workspace_id, { unified_tools });
    const variables = { BASE_URL: base_url, API_KEY: api_key, AGENT_ID: agent };
    await readStream(folder, variables, nextCall);
    await readTitle(folder);
    await drivePage(folder, variables, nextCall);
  } finally {
    service.child.kill('SIGINT');
    await service.ended;
    await model.close();
  }
  return undefined;
}

const readConnection = (data: string): Connection =>
  JSON.parse(readFileSync(join(data, 'connection.json'), 'utf8')) as Connection;

/** Installs the packages and the library, and bundles the page. */
function installPage({ run, esbuild }: Tools, folder: string): void {
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'], { folder });
  const library = join(folder, 'node_modules/@chat-batch/client');
  mkdirSync(library, { recursive: true });
  copyFileSync(join(root, 'lib/client/package.json'), join(library, 'package.json'));
  run(process.execPath, [join(root, 'lib/client/build.ts'), join(library, 'dist')]);
  cpSync(join(root, 'docs/examples/use-chat'), folder, { recursive: true });
  const strict = ['--noEmit', '--strict', '--module', 'nodenext', '--skipLibCheck', '--ignoreConfig'];
  run(join(root, 'node_modules/.bin/tsc'), [...strict, 'types.mts'], { folder });
  const production = '--define:process.env.NODE_ENV="production"';
  run(esbuild, ['main.jsx', '--bundle', '--jsx=automatic', production, '--outfile=bundle.js'], { folder });
}

type NextCall = () => Promise<ModelCall>;

/** The reply calls a tool, and then has a text of two parts. */
async function replyInSteps(nextCall: NextCall, between: () => Promise<unknown>): Promise<void> {
  const first = await nextCall();
  const following = nextCall();
  first.chunk('I look. ');
  first.callTools({ name: 'helper', arguments: { message: 'Help' } });
  first.finish();
  const second = await following;
  second.chunk('One ');
  await between();
  second.chunk('two');
  second.finish();
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

async function drivePage(
  folder: string,
  variables: Record<string, string>,
  nextCall: NextCall,
): Promise<void> {
  const server = startProgram(['/bin/env', `--chdir=${folder}`, process.execPath, 'server.mjs'], variables);
  await server.printed('\n');
  const browser = await startBrowser();
  try {
    const { page, problems } = await browser.open();
    await page.goto(server.output().trim());
    await showSteps(page, nextCall);
    await showError(page, nextCall);
    await stopReply(page, nextCall);
    assert.deepEqual(problems, []);
  } finally {
    await browser.close();
    server.child.kill();
    await server.ended;
  }
}

async function send(page: Page, message: string): Promise<void> {
  await page.getByLabel('Message').fill(message);
  await page.getByRole('button', { name: 'Send' }).click();
}

const newest = (page: Page) => page.locator('article[data-role=assistant]').last();

async function showSteps(page: Page, nextCall: NextCall): Promise<void> {
  const replied = replyInSteps(nextCall, async () => {
    // The text is there while the model still writes.
    await newest(page).getByText('One', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
  });
  await send(page, 'Work in steps');
  await replied;
  await newest(page).getByText('One two').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await page.getByRole('heading').filter({ hasNotText: 'New chat' }).waitFor();
  const texts = await newest(page).locator('p').allTextContents();
  assert.deepEqual([texts.length, texts[0], texts[1]?.at(-1)], [3, 'I look. ', '✓']);
}

async function showError(page: Page, nextCall: NextCall): Promise<void> {
  const called = nextCall();
  await send(page, 'Break');
  const call = await called;
  // The second message goes into the same chat.
  assert.match(JSON.stringify(call.request.messages), /One two/);
  call.chunk('Half');
  await newest(page).getByText('Half').waitFor();
  call.failInStream('server error');
  await page.getByRole('alert').getByText('The model cannot be reached: try again later').waitFor();
}

async function stopReply(page: Page, nextCall: NextCall): Promise<void> {
  const called = nextCall();
  await send(page, 'Endless');
  const call = await called;
  call.chunk('Going');
  await newest(page).getByText('Going').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await call.gone;
  await page.getByRole('button', { name: 'Send' }).waitFor();
}
