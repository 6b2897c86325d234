import { createReadStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import type { MessageResource } from '#contract/message.ts';
import { messageId } from '#domain/chats/message.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { ended, readJsonLines } from '#support/command-end.ts';
import { dataTableOf } from '#support/data-table.ts';
import { startDynamoProxy } from '#support/dynamo-proxy.ts';
import { dataOf } from '#support/open-tenant.ts';
import { chatItems, messageItems } from '#support/seed.ts';
import { createTenant } from '#support/service.ts';
import { createChat, historyOf, send } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const table = closeAfterTests(dataTableOf(service));
const small = await createTenant({ titles: false });
const folder = await temporaryFolder('agentctl-export-');
const agentctl = agentctlOf(service);
const out = join(folder, 'chats.jsonl');

it.runIf(process.env.SOAK !== undefined)(
  'holds a chat whose messages are more than the memory of the process',
  async () => {
    const [chatId, messageCount] = [1, 100_000];
    /** All have 100 MB. */
    const text = (position: number) => `Message ${position} `.padEnd(1000, 'x');
    const { workspaceId, agentId } = await createTenant();
    const counts = { count: 1, messageCounts: { [chatId]: messageCount }, near: [chatId] };
    await table.writeItems([
      ...chatItems({ workspaceId, agentId, externalUserId: 'user-1', ...counts }),
      ...messageItems({ workspaceId, chatId, first: 1, count: messageCount, content: text }),
    ]);
    // The first call of a command is a process of its own.
    process.env.NODE_OPTIONS = '--max-old-space-size=64';
    const run = agentctl.run('chats', 'export', '--workspace', workspaceId, '--out', out);
    delete process.env.NODE_OPTIONS;
    const { code, stdout, stderr } = await run;
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({ file: out, chats: 1, messages: messageCount });
    expect((await stat(out)).size).toBeGreaterThan(100_000_000);
    let count = -1;
    for await (const line of createInterface({ input: createReadStream(out) })) {
      count += 1;
      if (count === 0) expect(JSON.parse(line)).toMatchObject({ type: 'chat', id: chatId });
      // To parse each would take seconds.
      else if (!line.includes(`"id":${messageId(chatId, count)},`) || !line.includes(text(count)))
        throw new Error(`Line ${count + 1} is ${line}`);
    }
    expect(count).toBe(messageCount);
  },
);

it('holds what the histories show, of all users or of one, with files by their names', async () => {
  const client = clientOf(service, small);
  const upload = await uploaderOf(service, small).file('notes.txt', 'Notes');
  const { uuid } = dataOf(upload) as { uuid: string };
  const expected = new Map<string, unknown[]>();
  for (const user of ['ann', 'ü/ser %2e', 'ann']) {
    const id = await createChat(client, small, { external_user_id: user, name: `Of ${user}` });
    dataOf(
      await send(client, small, id, 'With a file', { external_user_id: user, attached_file_uuids: [uuid] }),
    );
    const history = () => historyOf(client, id, encodeURIComponent(user));
    const [, reply] = await history();
    const feedback = { external_user_id: user, type: 'sys_improve', content: 'Longer' };
    dataOf(await client.post(`/chats/${id}/messages/${reply?.id}/feedbacks`, feedback));
    const chat = dataOf(await client.get<ChatResource[]>('/chats')).find((each) => each.id === id);
    expected.set(user, [...(expected.get(user) ?? []), ...asLines(chat, await history())]);
  }
  const options = ['--workspace', small.workspaceId, '--out', out];
  await agentctl.json('chats', 'export', ...options);
  const all = await readJsonLines(out);
  expect(all).toHaveLength(9);
  for (const [user, lines] of expected) {
    expect(await agentctl.json('chats', 'export', ...options, '--user', user)).toMatchObject({
      chats: lines.length / 3,
      messages: (lines.length * 2) / 3,
    });
    expect(await readJsonLines(out)).toEqual(lines);
    expect(all).toEqual(expect.arrayContaining(lines));
  }
  expect((await stat(out)).mode & 0o777).toBe(0o600);
});

const asLines = (chat: ChatResource | undefined, history: MessageResource[]): unknown[] => [
  { type: 'chat', ...chat },
  ...history.map((message) => ({
    type: 'message',
    chat_id: chat?.id,
    ...message,
    attached_files: message.attached_files.map((file) => ({ ...file, file_url: null })),
  })),
];

it('says what was read before a failure, leaves the file as it is, and goes on after a broken connection', async () => {
  const proxy = closeAfterTests(await startDynamoProxy());
  proxy.emulator = service.run.endpoints.dynamodb;
  const endpoints = { ...service.run.endpoints, dynamodb: proxy.url };
  // Another list of knowledge bases is another data folder.
  const ofProxy = agentctlOf({ ...service, run: { ...service.run, endpoints } }, ['UNUSED0000']);
  const run = () => ofProxy.run('chats', 'export', '--workspace', small.workspaceId, '--out', out);
  await writeFile(out, 'before');
  let reads = 0;
  const denied = { status: 400, body: JSON.stringify({ __type: 'AccessDeniedException', message: '' }) };
  proxy.handle = async ({ target, body }, pass) => {
    if (target === 'Query' && JSON.stringify(body).includes('#C#')) reads += 1;
    return reads === 3 ? denied : pass();
  };
  const failed = await run();
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toMatch(
    /chats\.jsonl is unchanged: 3 chats with 4 messages were read\. .*\nAWS does not allow the credentials/,
  );
  expect(await readFile(out, 'utf8')).toBe('before');
  let broken = 0;
  proxy.handle = async ({ target }, pass) => {
    if (target !== 'Query' || broken > 4) return pass();
    broken += 1;
    return undefined;
  };
  const { code, stdout } = await run();
  expect([code, broken, JSON.parse(stdout)]).toEqual([0, 5, { file: out, chats: 3, messages: 6 }]);
});

it('leaves the file as it is when it fails', async () => {
  await writeFile(out, 'before');
  const run = (...args: string[]) => agentctl.run('chats', 'export', '--out', out, ...args);
  expect(await run('--workspace', 'ws_unknown')).toMatchObject(ended(1, 'Workspace ws_unknown not found\n'));
  expect(await run('--workspace', small.workspaceId, '--user', '')).toMatchObject(
    ended(1, /must not be empty/),
  );
  expect(await readFile(out, 'utf8')).toBe('before');
  const elsewhere = join(folder, 'missing', 'chats.jsonl');
  expect(
    await agentctl.run(...['chats', 'export', '--workspace', small.workspaceId, '--out', elsewhere]),
  ).toMatchObject(ended(1, /cannot be written: no such file or directory/));
});
