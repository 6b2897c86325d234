import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { attacks, manyAttacks } from '../../support/markdown-attacks.ts';
import type { ModelCall, ScriptedModel } from '../../support/model-server.ts';

export type NextCall = () => Promise<ModelCall>;

export const nextCallOf = (model: ScriptedModel): Promise<ModelCall> =>
  new Promise((resolve) => {
    model.onCall = resolve;
  });

/** The reply calls a tool, and then has a text of two parts. */
export async function replyInSteps(nextCall: NextCall, between: () => Promise<unknown>): Promise<void> {
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

export interface View {
  page: Page;
  model: ScriptedModel;
  /** Method and address of each request of the page. */
  requests: string[];
  nextCall: NextCall;
  /** The server of the page. */
  stopServer: () => Promise<void>;
  restart: () => Promise<void>;
}

/** Uses the page as people do. Each step leaves it ready for the next one. */
export async function usePage(view: View): Promise<void> {
  await showSteps(view);
  await showError(view);
  await stopReply(view);
  await stopBeforeStart(view);
  await sendLines(view);
  await resumeAfterReload(view);
  await resumeLostConnection(view);
  await awaitAfterReload(view);
  await attachFile(view);
  await showMarkdown(view);
  await rejectSend(view);
}

const sendsOf = ({ requests }: View) => requests.filter((line) => /^POST .*\/api\/chat\?/.test(line)).length;

async function send(page: Page, message: string): Promise<void> {
  await page.getByLabel('Message').fill(message);
  await page.getByRole('button', { name: 'Send' }).click();
}

const newest = (page: Page) => page.locator('article[data-role=assistant]').last();
const sendable = (page: Page) => page.locator('button[type=submit]:enabled').waitFor();
const shown = (page: Page) => page.getByRole('log').textContent();

async function reload(page: Page): Promise<void> {
  await page.reload();
  await page.getByLabel('Message').waitFor();
}

async function showSteps({ page, nextCall }: View): Promise<void> {
  const replied = replyInSteps(nextCall, async () => {
    // The text is there while the model still writes.
    await newest(page).getByText('One', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
  });
  await send(page, 'Work in steps');
  await replied;
  await newest(page).getByText('One two').waitFor();
  await sendable(page);
  await page.getByRole('heading').filter({ hasNotText: 'New chat' }).waitFor();
  const texts = await newest(page).locator('p').allTextContents();
  assert.deepEqual([texts.length, texts[0], texts[1]?.at(-1)], [3, 'I look.', '✓']);
  const title = await page.getByRole('heading').textContent();
  await reload(page);
  assert.equal(await page.getByRole('heading').textContent(), title);
  // The history has the steps before the text.
  assert.deepEqual(await newest(page).locator('p').allTextContents(), [texts[1], 'I look. One two']);
}

async function showError({ page, nextCall }: View): Promise<void> {
  const called = nextCall();
  await send(page, 'Break');
  const call = await called;
  // The second message goes into the same chat.
  assert.match(JSON.stringify(call.request.messages), /One two/);
  call.chunk('Half');
  await newest(page).getByText('Half').waitFor();
  call.failInStream('server error');
  const failure = 'The model cannot be reached: try again later';
  await page.getByRole('alert').getByText(failure).waitFor();
  await reload(page);
  await newest(page).getByText(failure).waitFor();
}

/** Neither Stop nor Enter sends what is in the composer, and what it has stays there. */
async function stopReply(view: View): Promise<void> {
  const { page, model, nextCall } = view;
  const called = nextCall();
  await send(page, 'Endless');
  const call = await called;
  call.chunk('Going');
  await newest(page).getByText('Going').waitFor();
  const before = [sendsOf(view), model.calls.length];
  await page.getByLabel('Message').fill('Next');
  await page.getByLabel('Message').press('Enter');
  await page.getByRole('button', { name: 'Stop' }).click();
  await call.gone;
  await sendable(page);
  assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0);
  assert.equal(await page.getByLabel('Message').inputValue(), 'Next');
  assert.deepEqual([sendsOf(view), model.calls.length], before);
  await newest(page).getByText('Stopped').waitFor();
  const messages = await shown(page);
  await reload(page);
  assert.equal(await shown(page), messages);
}

/** Stop works before the first event of a reply, when the page does not know its id. */
async function stopBeforeStart(view: View): Promise<void> {
  const { page, nextCall } = view;
  const called = nextCall();
  await page.route('**/api/chat?*', async (route) => {
    if (route.request().method() === 'POST') {
      await page.getByRole('button', { name: 'Stop' }).click();
      assert.equal(await page.getByRole('button', { name: 'Stop' }).isDisabled(), true);
    }
    await route.continue();
  });
  await send(page, 'Stop at once');
  await (await called).gone;
  await sendable(page);
  await newest(page).getByText('Stopped').waitFor();
  await page.unroute('**/api/chat?*');
}

async function sendLines({ page, nextCall }: View): Promise<void> {
  const called = nextCall();
  const input = page.getByLabel('Message');
  await input.pressSequentially('One');
  await input.press('Shift+Enter');
  await input.pressSequentially('two');
  await input.press('Enter');
  const call = await called;
  assert.match(call.request.messages.at(-1)?.content ?? '', /One\ntwo$/);
  call.chunk('Lines');
  call.finish();
  await sendable(page);
  const sent = page.locator('article[data-role=user] p').last();
  assert.equal(await sent.textContent(), 'One\ntwo');
  assert.equal(
    await sent.evaluate((node) => node.computedStyleMap().get('white-space')?.toString()),
    'pre-wrap',
  );
}

/** The reply goes on when the page is loaded anew, in it and in a second tab, and the model is called once. */
async function resumeAfterReload(view: View): Promise<void> {
  const { page, model, nextCall } = view;
  const called = nextCall();
  await send(page, 'Long');
  const call = await called;
  const calls = model.calls.length;
  call.chunk('First ');
  await newest(page).getByText('First').waitFor();
  await page.reload();
  await newest(page).getByText('First').waitFor();
  const tab = await page.context().newPage();
  await tab.goto(page.url());
  await newest(tab).getByText('First').waitFor();
  await tab.getByRole('button', { name: 'Stop' }).waitFor();
  call.chunk('last');
  call.finish();
  for (const each of [page, tab]) {
    await newest(each).getByText('First last').waitFor();
    await sendable(each);
  }
  await tab.close();
  assert.equal(model.calls.length, calls);
}

/** The reply goes on after a lost connection, whole. */
async function resumeLostConnection(view: View): Promise<void> {
  const { page, model, nextCall, stopServer, restart } = view;
  const called = nextCall();
  await send(page, 'Offline');
  const call = await called;
  const calls = model.calls.length;
  call.chunk('Before ');
  await newest(page).getByText('Before').waitFor();
  await stopServer();
  await page.getByRole('alert').waitFor();
  call.chunk('after');
  await restart();
  await newest(page).getByText('Before after').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
  call.finish();
  await sendable(page);
  assert.equal(model.calls.length, calls);
}

/** A page that does not know the stream of the reply waits for the reply, and can stop it. */
async function awaitAfterReload({ page, nextCall }: View): Promise<void> {
  for (const isStopped of [false, true]) {
    const called = nextCall();
    await send(page, 'Elsewhere');
    const call = await called;
    call.chunk('Text');
    await newest(page).getByText('Text').waitFor();
    await page.evaluate(() => localStorage.clear());
    await reload(page);
    await page.getByText('The reply is in progress').waitFor();
    if (isStopped) {
      await page.getByRole('button', { name: 'Stop' }).click();
      await call.gone;
    } else call.finish();
    await sendable(page);
    await newest(page).getByText('Text').waitFor();
    assert.equal(await newest(page).getByText('Stopped').count(), isStopped ? 1 : 0);
  }
}

async function attachFile({ page, nextCall }: View): Promise<void> {
  const fileOf = (name: string, text: string) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(text),
  });
  const input = page.getByLabel('Attach files');
  await input.setInputFiles([fileOf('note.txt', 'Written in a file'), fileOf('wrong.exe', 'No')]);
  await page.getByRole('alert').getByText('wrong.exe: Unsupported').waitFor();
  await page.getByRole('link', { name: 'note.txt' }).waitFor();
  await input.setInputFiles(fileOf('other.txt', 'Removed again'));
  await page.getByRole('button', { name: 'Remove' }).nth(1).click();
  const called = nextCall();
  await send(page, 'Read it');
  const call = await called;
  const sent = JSON.stringify(call.request.messages.at(-1));
  assert.match(sent, /Written in a file/);
  assert.doesNotMatch(sent, /Removed again/);
  call.chunk('Done');
  call.finish();
  await sendable(page);
  await reload(page);
  const address = await page.getByRole('link', { name: 'note.txt' }).getAttribute('href');
  assert.equal(await (await fetch(address ?? '')).text(), 'Written in a file');
}

/** Markdown is shown, and no text of a model runs, or requests an address. */
async function showMarkdown({ page, requests, nextCall }: View): Promise<void> {
  const called = nextCall();
  await send(page, 'Markdown');
  const call = await called;
  const before = requests.length;
  call.chunk(`**bold** <https://example.org/>\n\n| a |\n|---|\n| b |\n\n${attacks.join('\n\n')}\n\n`);
  for (const attack of manyAttacks) call.chunk(`${attack}\n\n`);
  call.finish();
  await sendable(page);
  const reply = newest(page);
  await reply.locator('strong', { hasText: 'bold' }).first().waitFor();
  await reply.locator('td', { hasText: 'b' }).first().waitFor();
  const link = reply.getByRole('link', { name: 'https://example.org/', exact: true });
  assert.equal(await link.getAttribute('rel'), 'noopener noreferrer nofollow');
  const dangerous =
    'script, img, iframe, style, svg, object, base, meta, form, [onclick], [onerror], [onload]';
  assert.equal(await reply.locator(dangerous).count(), 0);
  const schemes = await reply.locator('a').evaluateAll((links) => links.map((link) => link.protocol));
  assert.deepEqual([...new Set(schemes)].sort(), ['https:']);
  assert.notEqual(await page.title(), 'taken');
  assert.deepEqual(
    requests.slice(before).filter((line) => !line.includes('/api/chat')),
    [],
  );
}

/** What the service rejects is in the composer again, and not in the chat. */
async function rejectSend({ page, nextCall }: View): Promise<void> {
  const tab = await page.context().newPage();
  await tab.goto(page.url());
  await sendable(tab);
  const messages = await shown(page);
  const called = nextCall();
  await send(tab, 'In the other tab');
  const call = await called;
  await send(page, 'Too early');
  await page.getByRole('alert').getByText('A reply is already in progress').waitFor();
  await sendable(page);
  assert.equal(await page.getByLabel('Message').inputValue(), 'Too early');
  assert.equal(await shown(page), messages);
  call.chunk('Done');
  call.finish();
  await sendable(tab);
  await tab.close();
}
