import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { type BrowserPage, browserPath, startBrowser } from '#support/browser.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { attacks, manyAttacks } from '#support/markdown-attacks.ts';
import { type ModelCall, replyWith } from '#support/model-server.ts';
import { createPublishedAgent } from '#support/service.ts';
import { createChat, historyOf, send } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';
import { playgroundAddress } from '../../bin/local/playground.ts';

/** With `SCREENSHOTS=FOLDER`, a test writes a picture of the page to the folder. */
const screenshots = process.env.SCREENSHOTS;

const { service, tenant, client, model } = await useScriptedService();
const { origin } = new URL(service.baseUrl);
/** As `npm start` prints it. */
const address = playgroundAddress(service.baseUrl, tenant.apiKey, inject('sharedService').operatorToken);
await createPublishedAgent(tenant.workspaceId, {
  name: 'Researcher',
  description: 'Calls an expert before it replies.',
  llm_model: model.sharedName,
  suggested_questions: ['What is a lease?', 'Who renews it?'],
  unified_tools: [{ type: 'consultant_call_agent', name: 'expert', config: { agent_id: tenant.agentId } }],
});

const lastMessage = (call: ModelCall) => call.request.messages.at(-1);
/** What the model says to calls that no test has taken. */
let script = (_call: ModelCall) => 'Hello';
const takers: { takes: (call: ModelCall) => boolean; take: (call: ModelCall) => void }[] = [];
model.onCall = (call) => {
  const index = takers.findIndex(({ takes }) => takes(call));
  const [taker] = index < 0 ? [] : takers.splice(index, 1);
  if (taker !== undefined) taker.take(call);
  else {
    for (const word of script(call).split(/(?<= )/)) call.chunk(word);
    call.finish();
  }
};
const nextCall = (takes: (call: ModelCall) => boolean) =>
  new Promise<ModelCall>((take) => void takers.push({ takes, take }));
const callFor = (message: string) => nextCall((call) => lastMessage(call)?.content === message);

const browser = browserPath === undefined ? undefined : closeAfterTests(await startBrowser());
if (browser === undefined) console.log('There is no Chromium, so the tests of the playground are skipped');

describe.skipIf(browser === undefined)('the playground', () => {
  let opened: BrowserPage[] = [];
  afterEach(async () => {
    const problems = opened.flatMap((page) => page.problems);
    await Promise.all(opened.map(({ context }) => context.close()));
    opened = [];
    expect(problems).toEqual([]);
  });

  type WindowOptions = Parameters<NonNullable<typeof browser>['open']>[0];
  async function openWindow(url: string, options: WindowOptions = {}): Promise<BrowserPage> {
    if (browser === undefined) throw new Error('There is no browser');
    const window = await browser.open(options);
    opened.push(window);
    await window.page.goto(url);
    return window;
  }
  /** Opens the address as `npm start` prints it. */
  async function open(path = '', options: WindowOptions = {}) {
    const { page } = await openWindow(address, options);
    await isNew(page);
    if (path !== '') await page.goto(`${origin}/#${path}`);
    return page;
  }
  const isNew = (page: Page) => page.getByRole('heading', { name: 'New chat' }).waitFor();

  const messageOf = (page: Page) => page.getByLabel('Message', { exact: true });

  async function fillAndSend(page: Page, message: string): Promise<void> {
    await messageOf(page).fill(message);
    await page.getByRole('button', { name: 'Send' }).click();
  }

  /** Sends a message and returns the call of the model. */
  async function say(page: Page, message: string): Promise<ModelCall> {
    const called = callFor(message);
    await messageOf(page).fill(message);
    await messageOf(page).press('Enter');
    return await called;
  }

  const reply = (page: Page) => page.getByRole('article', { name: 'Reply' }).last();
  const shows = (place: Page | Locator, text: string | RegExp) => place.getByText(text).waitFor();
  const replyEnded = (page: Page) => shows(reply(page), /tokens/);

  async function submitBatch(page: Page, messages: string): Promise<void> {
    await page.getByRole('textbox', { name: 'Messages' }).fill(messages);
    await page.getByRole('button', { name: 'Submit the batch' }).click();
  }

  it('moves the key from the address to the session, and without one asks for it', async () => {
    const page = await open();
    expect(page.url()).toBe(`${origin}/`);
    expect(await page.evaluate('sessionStorage.getItem("api-key")')).toBe(tenant.apiKey);
    // Nothing has moved while the page was loaded.
    const shifts = await page.evaluate(`{
      const observer = new PerformanceObserver(() => {});
      observer.observe({ type: 'layout-shift', buffered: true });
      observer.takeRecords().map(({ value }) => value);
    }`);
    expect(shifts).toEqual([]);
    const html = await page.evaluate('document.documentElement.outerHTML');
    for (const secret of [tenant.apiKey, inject('sharedService').operatorToken])
      expect(html).not.toContain(secret);
    const other = await openWindow(origin);
    await other.page.getByLabel('Key', { exact: true }).fill(tenant.apiKey);
    await other.page.getByRole('button', { name: 'Use this key' }).click();
    await isNew(other.page);
  });

  it('lets no address replace the key unasked, and no page that opened it change its address', async () => {
    const page = await open();
    const keyOf = () => page.evaluate('sessionStorage.getItem("api-key")');
    const question = page.getByRole('heading', { name: 'Another API key' });
    // Also after a reload with the address, so not only when the fragment changes.
    for (const path of ['/', '/?again']) {
      await page.goto(`${origin}${path}#key=ak_another`);
      await question.waitFor();
      expect([await keyOf(), page.url()]).toEqual([tenant.apiKey, `${origin}/`]);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await isNew(page);
      expect(await keyOf()).toBe(tenant.apiKey);
    }

    const elsewhere = await listenLocally(
      createServer((_request, response) =>
        response.setHeader('Content-Type', 'text/html').end('<h1>Elsewhere</h1>'),
      ),
    );
    const other = await browser?.open();
    if (other === undefined) return;
    await other.page.goto(elsewhere.url);
    const tab = other.context.waitForEvent('page');
    await other.page.evaluate(`void (globalThis.opened = open('${origin}/#key=${tenant.apiKey}'))`);
    const openedPage = await tab;
    await isNew(openedPage);
    expect(await openedPage.evaluate('opener')).toBeNull();
    expect(await other.page.evaluate('globalThis.opened.closed')).toBe(true);
    await other.context.close();
    await elsewhere.close();
  });

  it('shows steps and deltas before the model has ended, then usage, events and the request', async () => {
    const page = await open();
    await page.getByLabel('Agent').selectOption({ label: 'Researcher' });
    const called = callFor('What is a lease?');
    const expert = callFor('Define lease');
    await fillAndSend(page, 'What is a lease?');
    const call = await called;
    const afterTool = nextCall((next) => lastMessage(next)?.role === 'tool');
    call.callTools({ name: 'expert', arguments: { message: 'Define lease' } });
    call.finish();
    const expertCall = await expert;
    await reply(page).getByText('running').waitFor();
    replyWith(expertCall, 'A time limit.');
    await reply(page).getByText('done').waitFor();
    const second = await afterTool;
    second.chunk('A lease is ');
    await reply(page).getByText('A lease is').waitFor();
    expect(await reply(page).getAttribute('aria-busy')).toBe('true');
    replyWith(second, 'a right for a time.');
    await reply(page).getByText('A lease is a right for a time.').waitFor();
    await shows(reply(page), /tokens · \d+ calls · [\d.]+ s/);
    const events = page.getByRole('tabpanel', { name: 'Events' });
    for (const type of ['created', 'reasoning_step.start', 'output_text.delta', '[DONE]'])
      await events.getByText(type, { exact: true }).first().waitFor();
    await page.getByRole('tab', { name: 'Requests' }).click();
    const requests = page.getByRole('tabpanel', { name: 'Requests' });
    await requests
      .getByText(/^\/chats\/\d+\/messages$/)
      .first()
      .click();
    const command = requests.locator('details[open] pre');
    expect(await command.textContent()).toMatch(
      /^curl -sN '.*\n {2}-H "x-api-key: \$API_KEY" \\\n.*"stream":true/s,
    );
    await requests.getByLabel('Show the key in commands').check();
    expect(await command.textContent()).toContain(tenant.apiKey);
  });

  it('follows a growing reply until the reader scrolls up, and stops it', async () => {
    const page = await open();
    const call = await say(page, 'Count to a million');
    call.chunk('One, two\n\n'.repeat(100));
    const belowView = () =>
      page.evaluate<number>(
        '(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)(document.querySelector(".scroller"))',
      );
    await reply(page).getByText('One, two').nth(99).waitFor();
    await expect.poll(belowView).toBeLessThan(3);
    await page.locator('.scroller').hover();
    await page.mouse.wheel(0, -500);
    await expect.poll(belowView).toBeGreaterThan(100);
    call.chunk('Three\n\n'.repeat(100));
    await reply(page).getByText('Three').nth(99).waitFor();
    expect(await belowView()).toBeGreaterThan(2000);
    await page.getByRole('button', { name: 'Stop' }).click();
    await reply(page).getByText('stopped').waitFor();
    await call.gone;
    await page.getByRole('button', { name: 'Send' }).waitFor();
  });

  it('shows the running reply after a reload and in a second tab, and goes on when the service is back', async () => {
    const page = await open();
    const call = await say(page, 'Go slowly');
    call.chunk('First ');
    await reply(page).getByText('First').waitFor();
    await page.route('**/stream?*', (route) => route.abort(), { times: 2 });
    await page.reload();
    await reply(page).getByText('Waiting for the service').waitFor();
    await reply(page).getByText('First').waitFor();
    call.chunk('second');
    await reply(page).getByText('First second').waitFor();
    expect(await reply(page).getByText('Waiting').count()).toBe(0);
    // Chromium logs the two lost connections.
    expect(opened[0]?.problems.splice(0)).toHaveLength(2);

    const tab = await page.context().newPage();
    await tab.goto(`${origin}/#key=${tenant.apiKey}`);
    await isNew(tab);
    await tab.goto(page.url());
    await reply(tab).getByText('First second').waitFor();
    // As if another client had sent the message.
    await tab.evaluate('localStorage.clear()');
    await tab.reload();
    await reply(tab).getByText('The reply is in progress').waitFor();
    await tab.getByRole('button', { name: 'Stop' }).click();
    for (const each of [page, tab]) await reply(each).getByText('stopped').waitFor();
    expect(await reply(tab).textContent()).toContain('First second');

    const next = await say(page, 'Once more');
    next.chunk('Third');
    await reply(tab).getByText('Third').waitFor();
    next.finish();
    for (const each of [page, tab]) await replyEnded(each);
    expect(await page.evaluate('localStorage.length')).toBe(0);
  });

  it('takes no accepted message back if a later request is rejected', async () => {
    const page = await open();
    const gone = { status: 404, contentType: 'application/json', body: '{"message":"Gone"}' };
    await page.route('**/stream?*', (route) => route.fulfill(gone), { times: 1 });
    await page.route(
      '**/chats/*/messages',
      async (route) => {
        const response = await route.fetch();
        const whole = await response.text();
        await route.fulfill({ response, body: whole.slice(0, whole.indexOf('response.output_text.delta')) });
      },
      { times: 1 },
    );
    await fillAndSend(page, 'Cut off');
    await replyEnded(page);
    await page.getByLabel('Stream').uncheck();
    await page.route('**/messages?*', (route) => route.fulfill(gone), { times: 1 });
    await fillAndSend(page, 'Without a stream');
    await expect.poll(() => page.getByText(/tokens/).count()).toBe(2);
    expect(await page.getByRole('article').count()).toBe(4);
    expect(await messageOf(page).inputValue()).toBe('');
    // Chromium logs both responses.
    expect(opened[0]?.problems.splice(0)).toHaveLength(2);
  });

  it('keeps an unsent message and its files, for each chat', async () => {
    const chatId = await createChat(client, tenant, { name: 'Another chat' });
    const page = await open();
    const message = messageOf(page);
    await message.fill('Half a');
    await page
      .getByLabel('Files', { exact: true })
      .setInputFiles([
        fileOf('kept.md', 'Kept', 'text/markdown'),
        fileOf('empty.md', '', 'text/markdown'),
        fileOf('program.exe', 'MZ', 'application/x-msdownload'),
      ]);
    const files = page.getByRole('list', { name: 'Files of the message' });
    const rejected = files.getByRole('listitem').getByRole('alert');
    await rejected.getByText('empty.md: File is empty').waitFor();
    await rejected.getByText('program.exe: Unsupported').waitFor();
    await files.getByRole('button', { name: 'Remove kept.md' }).waitFor();
    // In the order in which they were chosen, whichever was uploaded first.
    expect(await files.getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/^kept.md/),
      expect.stringMatching(/^empty.md/),
      expect.stringMatching(/^program.exe/),
    ]);
    await files.getByRole('button', { name: 'Dismiss program.exe' }).press('Enter');
    expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Dismiss empty.md');
    opened[0]?.problems.splice(0);
    await page.goto(`${origin}/#/chats/${chatId}`);
    await page.getByRole('heading', { name: 'Another chat' }).waitFor();
    expect([await message.inputValue(), await files.count()]).toEqual(['', 0]);
    await message.fill('For another');
    await page.getByRole('link', { name: 'New chat' }).click();
    await isNew(page);
    expect(await message.inputValue()).toBe('Half a');
    await page.reload();
    await page.getByRole('button', { name: 'Remove kept.md' }).waitFor();
    expect(await message.inputValue()).toBe('Half a');
    // Dropped and pasted files.
    for (const [type, property] of [
      ['drop', 'dataTransfer'],
      ['paste', 'clipboardData'],
    ])
      await page.evaluate(`{
        const ${property} = new DataTransfer();
        ${property}.items.add(new File(['Text'], '${type}.txt', { type: 'text/plain' }));
        const event = ${type === 'drop' ? 'new DragEvent' : 'new ClipboardEvent'}('${type}', { bubbles: true, cancelable: true, ${property} });
        document.querySelector('.composer').dispatchEvent(event);
      }`);
    for (const name of ['drop.txt', 'paste.txt'])
      await page.getByRole('button', { name: `Remove ${name}` }).waitFor();
    await message.press('Enter');
    await replyEnded(page);
    const sent = page.getByRole('listitem').filter({ hasText: /kept.md|drop.txt|paste.txt/ });
    expect(await sent.count()).toBe(3);
    const drafts = 'Object.keys(sessionStorage).filter((name) => name.startsWith("draft-"))';
    expect(await page.evaluate(drafts)).toEqual([`draft-${chatId}`]);
  });

  it('shows a form of an agent, whose answers are the next message', async () => {
    await createPublishedAgent(tenant.workspaceId, {
      name: 'Clerk',
      llm_model: model.sharedName,
      unified_tools: [{ type: 'consultant_request_form', name: 'ask' }],
    });
    const page = await open();
    await page.getByLabel('Agent').selectOption({ label: 'Clerk' });
    const call = await say(page, 'Book a table');
    call.callTools({ name: 'ask', arguments: reservation });
    call.finish();
    const form = page.getByRole('form', { name: 'Reservation' });
    await form.getByLabel('Name *').fill('Ada');
    await form.getByLabel('Guests').fill('4');
    await form.getByLabel('Room').selectOption('Garden');
    await form.getByLabel('Dishes').selectOption(['Soup', 'Fish']);
    await form.getByLabel('Window').check();
    await replyEnded(page);
    const sent = callFor('Name: Ada\nGuests: 4\nRoom: Garden\nDishes: Soup, Fish\nWindow: yes');
    await form.getByRole('button', { name: 'Send the answers' }).press('Enter');
    const answer = await sent;
    // The button is gone, but not the focus.
    expect(await page.evaluate('document.activeElement.className')).toBe('scroller');
    replyWith(answer, 'Thank you.');
    await reply(page).getByText('Thank you.').waitFor();
    expect(await form.getByLabel('Name *').isDisabled()).toBe(true);
    await page.reload();
    await reply(page).getByText('Thank you.').waitFor();
    expect(await form.getByLabel('Name *').isDisabled()).toBe(true);
  });

  it('shows why a reply has failed, with the text so far, and takes the next message', async () => {
    const page = await open();
    const call = await say(page, 'Fail halfway');
    call.chunk('Half of');
    call.failInStream('invalid request');
    await shows(reply(page), /\(10005\)$/);
    expect(await reply(page).textContent()).toContain('Half of');
    const second = await say(page, 'Once more');
    replyWith(second, 'Better.');
    await replyEnded(page);
  });

  it('attaches a file, rates the reply, and shows both when the chat is opened once more', async () => {
    const page = await open();
    let upload = () => {};
    const released = new Promise<void>((resolve) => (upload = resolve));
    await page.route('**/upload-file', (route) => released.then(() => route.continue()), { times: 1 });
    const notes = fileOf('notes.md', '# Notes\nThe lease ends in May.');
    await page.getByLabel('Files', { exact: true }).setInputFiles(notes);
    await page.getByText('Uploading notes.md').waitFor();
    // A message is not sent without a file that is still on its way.
    await messageOf(page).fill('Too early');
    await messageOf(page).press('Enter');
    expect(await messageOf(page).inputValue()).toBe('Too early');
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    upload();
    await page.getByRole('button', { name: 'Remove notes.md' }).waitFor();
    script = (call) =>
      JSON.stringify(call.request.messages).includes('The lease ends in May') ? 'In May.' : 'No file';
    await fillAndSend(page, 'When does it end?');
    await reply(page).getByRole('button', { name: 'Could be better' }).click();
    await page.getByLabel('Comment').fill('Name the day.');
    await page.getByRole('button', { name: 'Rate the reply' }).click();
    await reply(page).getByText('Rated').waitFor();
    await page.reload();
    await page.getByText('0 helpful, 1 to improve').waitFor();
    await page.getByRole('link', { name: 'notes.md' }).waitFor();
    expect(await reply(page).textContent()).toContain('In May.');
  });

  it('finds an old chat, and renames and deletes it', async () => {
    const chatId = await createChat(client, tenant, { name: 'The first of many' });
    await send(client, tenant, chatId, 'An old question');
    const page = await open();
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('nowhere');
    await page.getByText('No chat found.').waitFor();
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('FIRST of');
    expect(await page.locator('#chat-list a').count()).toBe(1);
    await page.getByRole('link', { name: /The first of many/ }).click();
    await page.getByText('An old question').waitFor();
    await page.getByRole('button', { name: 'Rename the chat' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('A better name');
    await page.getByRole('textbox', { name: 'Name' }).press('Enter');
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('better');
    await page.getByRole('link', { name: /A better name/ }).waitFor();
    await page.getByRole('button', { name: 'Delete the chat' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await isNew(page);
    await expect.poll(() => page.getByRole('link', { name: /A better name/ }).count()).toBe(0);
    expect((await client.get(`/chats/${chatId}`)).status).toBe(404);
    // A message cannot go to the chat that was open before.
    await page.goto(`${origin}/#/chats/${chatId}`);
    await page.getByRole('alert').getByText('Chat not found').waitFor();
    expect(await messageOf(page).count()).toBe(0);
    expect(opened[0]?.problems.splice(0)).toEqual([expect.stringContaining('status of 404')]);
  });

  it('runs and requests nothing of a hostile text, in any view', async () => {
    const hostile = attacks.join('\n\n');
    script = () => hostile;
    const page = await open();
    const requested = requestsOf(page);
    await fillAndSend(page, hostile);
    await replyEnded(page);
    await page.getByRole('tabpanel', { name: 'Events' }).getByText('output_text.completed').click();
    expect(await harmfulIn(page)).toEqual([]);
    const chatId = Number(page.url().split('/').at(-1));
    const name = attacks[1] ?? '';
    await client.patch(`/chats/${chatId}`, { name, external_user_id: 'playground' });
    await page.reload();
    await page.getByRole('heading', { name }).waitFor();
    await replyEnded(page);
    expect(await harmfulIn(page)).toEqual([]);
    await page.goto(`${origin}/#/batches`);
    await submitBatch(page, hostile.replaceAll('\n', ' '));
    await page.getByRole('heading', { name: 'Batch completed' }).waitFor();
    await page.locator('.result .markdown').waitFor();
    expect(await harmfulIn(page)).toEqual([]);
    const agentId = await createPublishedAgent(tenant.workspaceId, { name, llm_model: model.sharedName });
    await page.goto(`${origin}/#/agents/${agentId}`);
    const editor = page.locator('#agents-view');
    await editor.getByLabel('Instructions').fill(hostile);
    await editor.getByLabel('Test message').fill(hostile);
    await editor.getByRole('button', { name: 'Try it' }).click();
    await editor
      .locator('.columns footer')
      .getByText(/tokens/)
      .nth(1)
      .waitFor();
    expect(await harmfulIn(page)).toEqual([]);
    expect([await page.title(), requested]).toEqual(['Playground', []]);
  });

  it(`runs and requests nothing of ${manyAttacks.length} hostile texts`, async () => {
    const page = await open();
    const requested = requestsOf(page);
    await page.evaluate(`import('/markdown.js').then(({ markdownOf }) =>
      document.body.replaceChildren(...${JSON.stringify(manyAttacks)}.map((text) => markdownOf(text))))`);
    expect(await page.locator('.markdown').count()).toBe(manyAttacks.length);
    expect(await harmfulIn(page)).toEqual([]);
    const hosts = await page.evaluate(
      '[...new Set([...document.querySelectorAll("a")].map(({ host }) => host))]',
    );
    expect(hosts).toEqual(['elsewhere.example']);
    expect([await page.title(), requested]).toEqual(['Playground', []]);
  });

  it('draws Markdown: code that can be copied, tables that scroll, lists, and right-to-left text', async () => {
    script = () => markdown;
    const page = await open('', {
      viewport: { width: 390, height: 800 },
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await fillAndSend(page, 'Everything, please');
    await replyEnded(page);
    const text = reply(page).locator('.markdown');
    await text.getByRole('heading', { name: 'Title', level: 2 }).waitFor();
    const links = '[...document.querySelectorAll(".markdown a")].map(({ href, rel }) => [href, rel])';
    expect(await page.evaluate(links)).toEqual(
      ['a?b=1&c=2', 'auto', 'picture.png'].map((path) => [
        `https://example.com/${path}`,
        'noopener noreferrer nofollow',
      ]),
    );
    expect(await text.locator('strong, em, s, li, blockquote').allTextContents()).toEqual([
      'bold',
      'one',
      expect.stringContaining('two'),
      'nested',
      expect.stringContaining('three'),
    ]);
    await text.getByRole('button', { name: 'Copy code' }).click();
    await text.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('const a = "<b>";\n');
    const widths = '(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)';
    expect(await page.evaluate(`${widths}(document.querySelector(".table"))`)).toBe(true);
    // A cell breaks no word that fits.
    const linesOfWord = await page.evaluate(`{
      const range = document.createRange();
      range.selectNodeContents(document.querySelector('th'));
      range.getClientRects().length;
    }`);
    expect(linesOfWord).toBe(1);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    const directions =
      '[...document.querySelectorAll(".markdown p[dir]")].map((node) => getComputedStyle(node).direction)';
    expect(await page.evaluate(directions)).toEqual(['ltr', 'ltr', 'rtl']);
  });

  it('sends without a stream, and shows why a message is rejected', async () => {
    const page = await open();
    await page.getByLabel('Stream').uncheck();
    const call = await say(page, 'Briefly, please');
    replyWith(call, 'Yes.');
    await reply(page).getByText('Yes.').waitFor();
    await shows(reply(page), /1 call/);
    const chatId = Number(page.url().split('/').at(-1));
    expect(await historyOf(client, chatId, 'playground')).toHaveLength(2);
    await fillAndSend(page, `${'x'.repeat(300_000)}`);
    await shows(page.getByRole('alert'), /message/);
    // Chromium logs each response with an error.
    expect(opened[0]?.problems.splice(0)).toEqual([expect.stringContaining('status of 400')]);
    expect(await messageOf(page).inputValue()).toHaveLength(300_000);
  });

  it('submits a file, shows each question, the failed alone, and what is to download', async () => {
    script = (call) => `Reply to ${lastMessage(call)?.content}`;
    const page = await open('/batches');
    const file = page.getByLabel(/^Or a file/);
    await file.setInputFiles(fileOf('broken.jsonl', '{"message":"a"}\n{"a":1}'));
    await page.getByText('Line 2 is no JSON object with a message').waitFor();
    const csv = '\uFEFFcustom_id,note,message\r\n"a,1",x,"Say ""hi"",\nplease"\r\nb,,Fail\r\n';
    await file.setInputFiles(fileOf('questions.csv', csv, 'text/csv'));
    await page.getByText('2 requests', { exact: true }).waitFor();
    const called = callFor('Fail');
    await page.getByRole('button', { name: 'Submit the batch' }).click();
    await page.getByText('Reply to Say "hi",').waitFor();
    const link = page.getByRole('listitem').filter({ hasText: 'Say "hi",' }).getByRole('link');
    await link.focus();
    (await called).fail(400);
    await page.getByRole('heading', { name: 'Batch 1 failed' }).waitFor();
    await page.getByText('The model refused the request').waitFor();
    // What is drawn while the batch runs takes the focus from nothing.
    expect(await page.locator(':focus').textContent()).toBe(await link.textContent());
    const questions = page.locator('.question');
    await expect.poll(() => questions.allTextContents()).toEqual(['Say "hi",\nplease', 'Fail']);
    const downloaded = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const lines = await text(await (await downloaded).createReadStream());
    expect(lines).toMatch(
      /^custom_id,status,response_content,.*\r\n"a,1",success,"Reply to Say ""hi"",\nplease",.*\r\nb,failed,,\d+,.*\r\n$/,
    );
    await page.getByLabel('Failed only').check();
    await expect.poll(() => questions.allTextContents()).toEqual(['Fail']);

    const batchId = page.url().split('/').at(-1);
    const retried = callFor('Fail').then((call) => call.fail(400));
    await page.goto(`${origin}/#/batches`);
    await submitBatch(page, 'Fail');
    await retried;
    await page.getByRole('heading', { name: 'Batch all failed' }).waitFor();
    expect(await page.locator('h1 .badge').getAttribute('data-status')).toBe('failed');
    await page.goto(`${origin}/#/batches/${batchId}`);
    await page.getByRole('heading', { name: 'Batch 1 failed' }).waitFor();
    await page.getByRole('link', { name: 'Chats', exact: true }).click();
    await page.getByText(/^Chats of batches/).click();
    await page.locator('#batch-chat-list a').filter({ hasText: 'a,1' }).waitFor();
    expect(await page.locator('#chat-list a').filter({ hasText: 'a,1' }).count()).toBe(0);
    // The buttons of pages are drawn anew, and the one with the focus, or else the other one, has it again.
    const focused =
      await page.evaluate(`import('/dom.js').then(({ drawPager }) => [1, 2, 1].map((current_page, index) => {
      drawPager(document.body, { limit: 1, offset: 0, total_pages: 2, current_page }, () => {});
      if (index === 0) document.querySelector('button:enabled').focus();
      return document.activeElement.textContent;
    }))`);
    const parsed = await page.evaluate(`import('/batch-file.js').then(({ requestsOf, csvOf }) => [
      requestsOf('a.txt', ' One \\r\\n\\r\\nTwo').map(({ message }) => message),
      requestsOf('a.jsonl', '"One"\\n{"custom_id":"x","message":"Two"}'),
      requestsOf('a.CSV', 'message\\n"a""b"\\n\\n"c').map(({ message }) => message),
      csvOf([{ custom_id: '=1+1', status: 'failed', error_message: null }]).split('\\r\\n')[1],
    ])`);
    expect(parsed).toEqual([
      ['One', 'Two'],
      [
        { custom_id: 'request-1', message: 'One' },
        { custom_id: 'x', message: 'Two' },
      ],
      ['a"b', '"c'],
      "'=1+1,failed,,,,",
    ]);
    expect(focused).toEqual(['Next', 'Previous', 'Next']);
  });

  it('writes an agent, tries its draft beside the published version, compares, publishes and goes back', async () => {
    script = (call) => `I am ${call.request.messages[0]?.content}`;
    const page = await open('/agents');
    const field = (name: string) => page.locator('#agents-view').getByLabel(name);
    const save = page.getByRole('button', { name: 'Save the draft' });
    const mistakes = page.getByRole('alert').getByRole('list').getByRole('listitem');
    await field('Model').fill('none:x');
    await field('as JSON').fill('{"meta": {"temperature": 3}}');
    await save.press('Enter');
    await expect.poll(() => mistakes.count()).toBe(3);
    expect(opened[0]?.problems.splice(0)).toEqual([expect.stringContaining('status of 400')]);
    await field('as JSON').fill('{"meta": }');
    await save.click();
    await expect
      .poll(() => mistakes.allTextContents())
      .toEqual([expect.stringMatching(/^The JSON cannot be read/)]);

    await field('Name').fill('Guide');
    await field('Model').fill(model.sharedName);
    await field('Instructions').fill('a guide\nof the harbour');
    await field('as JSON').fill('{"suggested_questions": ["Where?"]}');
    // Enter in a field saves, as the button does.
    await field('Name').press('Enter');
    await page.getByRole('heading', { name: 'Guide' }).waitFor();
    await page.getByRole('link', { name: /Guide/ }).and(page.locator('[aria-current]')).waitFor();
    expect(page.url()).toMatch(/#\/agents\/[0-9a-f-]{36}$/);
    await page.getByRole('button', { name: 'Publish' }).press('Enter');
    await page.getByText('Saved, and published as version 1').waitFor();

    await field('Instructions').fill('a pilot\nof the harbour');
    await page.getByText('Not saved').waitFor();
    const difference = page.getByLabel('Difference');
    await expect
      .poll(() => difference.locator('del, ins').allTextContents())
      .toEqual(['- a guide', '+ a pilot']);
    // What is not saved stays while another view is shown.
    await page.getByRole('link', { name: 'Batches' }).click();
    await page.getByRole('textbox', { name: 'Messages' }).waitFor();
    await page.goBack();
    await page.getByText('Not saved').waitFor();
    await field('Test message').fill('Who are you?');
    await field('Test message').press('Enter');
    const columnOf = async (name: string, text: string) => {
      const column = page.getByRole('region', { name, exact: true });
      await shows(column, text);
      await shows(column, /tokens · 1 call/);
      return column;
    };
    const draft = await columnOf('Draft', 'I am a pilot');
    const published = await columnOf('Version 1, published', 'I am a guide');
    const [left, right] = [await draft.boundingBox(), await published.boundingBox()];
    expect([left?.y, (right?.x ?? 0) > (left?.x ?? 0)]).toEqual([right?.y, true]);
    expect(await findingsOf(page)).toEqual([]);

    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Saved, and published as version 2').waitFor();
    await difference.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Go back to version 1' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Go back to version 1' }).press('Enter');
    await page.getByText('copy of version 1').waitFor();
    await page.getByText('Saved, not published').waitFor();
    const failing = nextCall(() => true).then((call) => call.fail(401));
    await page.getByRole('button', { name: 'Try it' }).click();
    await failing;
    await page.getByText(/^The provider at \S+ answered with status 401 \(type scripted\)$/).waitFor();

    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await smallTargetsIn(page)).toEqual([]);
    await page.getByRole('link', { name: 'Chats', exact: true }).click();
    await page.locator('#chats-view').getByLabel('Agent').selectOption({ label: 'Guide' });
    await page.getByRole('button', { name: 'Where?' }).waitFor();
    expect(await unreachableIn(page, '/agents')).toEqual([]);
  });

  it('takes no agent without the token of the run', async () => {
    const window = await openWindow(`${origin}/#key=${tenant.apiKey}`);
    await isNew(window.page);
    await window.page.getByRole('link', { name: 'Agents' }).click();
    await shows(window.page.getByRole('alert'), 'Open the address that npm start has printed last');
    expect(window.problems.splice(0)).toEqual([expect.stringContaining('status of 401')]);
  });

  it('works on a narrow screen, and by keyboard alone', async () => {
    const chatId = await createChat(client, tenant, { name: 'A chat for a small screen' });
    const page = await open('', { viewport: { width: 360, height: 640 } });
    expect(await page.getByRole('complementary').count()).toBe(0);
    const bar = await page.locator('.top').boundingBox();
    expect(bar?.height).toBeLessThan(100);
    await page.getByRole('button', { name: 'List' }).press('Enter');
    await page.getByRole('link', { name: /A chat for a small screen/ }).press('Enter');
    await page.getByRole('heading', { name: 'A chat for a small screen' }).waitFor();
    expect(page.url()).toMatch(new RegExp(`#/chats/${chatId}$`));
    expect(await page.getByRole('complementary').count()).toBe(0);
    const call = await say(page, 'Start');
    call.chunk('Word');
    await reply(page).getByText('Word').waitFor();
    await messageOf(page).press('Escape');
    await reply(page).getByText('stopped').waitFor();
    await page.getByRole('button', { name: 'Events and requests' }).press('Enter');
    await page.getByRole('tab', { name: 'Events' }).press('ArrowRight');
    await page
      .getByRole('tabpanel', { name: 'Requests' })
      .getByText(`/chats/${chatId}/stop`, { exact: true })
      .waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    expect(await findingsOf(page)).toEqual([]);
    expect(await smallTargetsIn(page)).toEqual([]);
    const composer = await page.locator('.composer').boundingBox();
    const { y = 0 } = (await page.locator('#inspector').boundingBox()) ?? {};
    expect((composer?.y ?? 0) + (composer?.height ?? 0)).toBeLessThanOrEqual(y);
    await page.keyboard.press('Escape');
    expect(await page.getByRole('tab', { name: 'Requests' }).count()).toBe(0);
    expect(await page.evaluate('document.activeElement.id')).toBe('inspector-toggle');
    await page.getByLabel('User').fill('someone');
    await page.getByRole('button', { name: 'List' }).press('Enter');
    expect(await smallTargetsIn(page)).toEqual([]);
    // A press beside the list closes it.
    await page.getByRole('main').click({ position: { x: 350, y: 200 } });
    expect(await page.getByRole('complementary').count()).toBe(0);
  });

  it('has no serious finding of axe, in light and in dark', async () => {
    script = () => markdown;
    const page = await open();
    const findings = [await findingsOf(page)];
    await fillAndSend(page, 'What is a lease?');
    await replyEnded(page);
    findings.push(await findingsOf(page));
    await page.getByRole('tab', { name: 'Requests' }).click();
    await page.getByRole('button', { name: 'Rename the chat' }).click();
    findings.push(await findingsOf(page));
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'Batches' }).click();
    await page.getByRole('textbox', { name: 'Messages' }).waitFor();
    findings.push(await findingsOf(page));
    await page.getByRole('link', { name: 'Reference' }).click();
    await page.locator('#route-list a[href$="post-chats"]').click();
    await page.locator('details.route[open]').waitFor();
    findings.push(await findingsOf(page));
    expect(findings.flat()).toEqual([]);
  });

  it.skipIf(screenshots === undefined)('has its picture taken', async () => {
    const page = await open('', { viewport: { width: 1120, height: 680 } });
    await page.getByLabel('Agent').selectOption({ label: 'Researcher' });
    script = (call) =>
      lastMessage(call)?.role === 'tool' ? pictureReply : 'A right that ends by itself unless it is renewed.';
    const called = callFor('What is a lease?');
    await fillAndSend(page, 'What is a lease?');
    const call = await called;
    call.callTools({ name: 'expert', arguments: { message: 'Define lease' } });
    call.finish();
    await replyEnded(page);
    await page.screenshot({ path: `${screenshots}/playground.png` });
  });
});

const fileOf = (name: string, content: string, mimeType = '') => ({
  ...{ name, mimeType, buffer: Buffer.from(content) },
});

const pictureReply =
  'A lease is a right that ends by itself.\n\nWhile a reply is written, its function owns the chat for 30 seconds and renews this lease every 10 seconds. If the function crashes, nobody renews the lease, and the chat takes the next message half a minute after.';

const reservation = {
  title: 'Reservation',
  description: 'For this evening.',
  fields: [
    { name: 'name', label: 'Name', type: 'text', required: true },
    { name: 'guests', label: 'Guests', type: 'number' },
    { name: 'room', label: 'Room', type: 'select', options: ['Hall', 'Garden'] },
    { name: 'dishes', label: 'Dishes', type: 'multiselect', options: ['Soup', 'Fish', 'Cake'] },
    { name: 'window', label: 'Window', type: 'boolean' },
  ],
};

const markdown = `# Title

**bold** [link](https://example.com/a?b=1&c=2), https://example.com/auto and \`code\`

- one
- two
  1. nested

> three

\`\`\`ts
const a = "<b>";
\`\`\`

| Incomprehensibilities | Another | ${'Heading of a wide table | '.repeat(4)}
|---|---|${'---|'.repeat(4)}
| 1 | 2 |

![picture](https://example.com/picture.png)

مرحبا بالعالم، code هنا
`;

/** The addresses that the page requests from now on, but for those of its own origin. */
function requestsOf(page: Page): string[] {
  const urls: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) urls.push(request.url());
  });
  return urls;
}

/** Elements and attributes of the page that none of its own files makes, and links that are not to web pages. */
const harmfulIn = (page: Page) =>
  page.evaluate<string[]>(`[...document.body.querySelectorAll('*')].flatMap((node) => {
    const isText = node.closest('.markdown') !== null;
    const names = node.getAttributeNames();
    const allowed = isText && /^(a|blockquote|br|button|code|div|em|h[2-6]|hr|li|ol|p|pre|s|span|strong|t[dhr]|table|tbody|thead|ul|svg|path)$/;
    const isHarmful =
      (allowed ? !allowed.test(node.localName) : /^(script|style|iframe|object|embed|base|meta|link|math|video|use|marquee|b)$/.test(node.localName)) ||
      (node.localName === 'img' && node.closest('.brand') === null) ||
      (node.localName === 'svg' && !node.matches('.icon')) ||
      names.some((name) => /^on|^(style|src|srcdoc|background|xlink:href|action|formaction)$/.test(name) && node.closest('.brand') === null) ||
      (isText && node.localName === 'a' && !/^https?:\\/\\//.test(node.href));
    return isHarmful ? [node.outerHTML.slice(0, 200)] : [];
  })`);

/** What a finger may press and is less than 32 pixels wide or high, but for links in a text. */
const smallTargetsIn = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll('a, button, input, select, textarea, summary')]
    .filter((node) => node.checkVisibility() && node.closest('.markdown, .facts, .hint') === null)
    .map((node) => node.closest('label.check') ?? node)
    .filter((node) => Math.min(node.getBoundingClientRect().width, node.getBoundingClientRect().height) < 31.9)
    .map((node) => node.outerHTML.slice(0, 100))`);

/** What the Tab key does not reach of a view's controls. */
async function unreachableIn(page: Page, path: string): Promise<string[]> {
  await page.goto(`${origin}/#${path}`);
  await page.getByRole('button', { name: 'Save the draft' }).waitFor();
  const controls = `[...document.querySelectorAll('#agents-view :is(a, button, input, select, textarea)')]
    .filter((node) => node.checkVisibility())`;
  await page.evaluate(
    `document.querySelector('#agents-view').dataset.reached = ''; document.activeElement.blur();`,
  );
  const count = await page.evaluate<number>(
    'document.querySelectorAll("a, button, input, select, textarea").length',
  );
  for (let pressed = 0; pressed < count; pressed += 1) {
    await page.keyboard.press('Tab');
    await page.evaluate('document.activeElement.setAttribute("data-reached", "")');
  }
  return page.evaluate<string[]>(
    `${controls}.filter((node) => node.dataset.reached === undefined).map((node) => node.outerHTML.slice(0, 100))`,
  );
}

interface AxeResults {
  violations: { id: string; impact: string; nodes: { html: string }[] }[];
}

/** The serious and critical findings of axe in light and in dark, one line each. */
async function findingsOf(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  // Not as a script of the page, which its Content-Security-Policy forbids.
  await session.send('Runtime.evaluate', { expression: axe.source });
  const findings: string[] = [];
  // In dark, only the contrast can differ.
  const runs = { light: {}, dark: { runOnly: ['color-contrast'] } } as const;
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const options = JSON.stringify({ resultTypes: ['violations'], ...runs[colorScheme] });
    const { result } = await session.send('Runtime.evaluate', {
      expression: `axe.run(${options})`,
      awaitPromise: true,
      returnByValue: true,
    });
    const { violations } = result.value as AxeResults;
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    for (const { id, nodes } of serious)
      findings.push(`${colorScheme}, ${id}: ${nodes.map(({ html }) => html.slice(0, 150)).join(' ')}`);
  }
  return findings;
}
