import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DeleteObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf, operatorAt } from '#support/data-table.ts';
import { chatWithTool, type Found } from '#support/demo-tools.ts';
import { docx, formPdf, pdfOf } from '#support/office-documents.ts';
import { messageItems } from '#support/seed.ts';
import { createTenant, type Tenant } from '#support/service.ts';
import { historyOf } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';
import { wordDocument } from '#support/word-document.ts';

const type = 'consultant_retrieve_context_source';

interface Document {
  id: string;
  name: string;
  content_type: string;
  size: number;
  characters: number;
  passages: number;
  added_at: string;
  replaced?: boolean;
  notices?: string[];
}

const service = await useService();
const agentctl = agentctlOf(service);
const folder = join(service.dataDir, 'documents');
await mkdir(folder);

const fileOf = async (name: string, content: string | Uint8Array): Promise<string> => {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
};

const knowledge = (command: string, workspace: string, ...more: string[]) =>
  agentctl.json<Record<'documents' | 'removed', Document[]>>(
    ...['knowledge', command, '--workspace', workspace, ...more],
  );
const add = async (...args: [workspace: string, ...more: string[]]) =>
  (await knowledge('add', ...args)).documents;
const list = async (workspace: string) => (await knowledge('list', workspace)).documents;
const rejection = async (command: string, workspace: string, ...more: string[]): Promise<string> => {
  const args = ['knowledge', command, '--workspace', workspace, ...more];
  const { code, stderr, stdout } = await agentctl.run(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr.trim();
};
const namesOf = ({ results }: Found) => results.map(({ source }) => source.name);
const open = (tenant: Tenant, config?: Record<string, unknown>) =>
  chatWithTool(service, tenant, type, config);

const { ContentBucketName: Bucket } = service.run.outputs;
const bucket = new S3Client(operatorAt(service.run.endpoints.s3));
const objectsOf = async ({ workspaceId }: Tenant): Promise<string[]> => {
  const { Contents = [] } = await bucket.send(
    new ListObjectsV2Command({ Bucket, Prefix: `knowledge/${workspaceId}/` }),
  );
  return Contents.map(({ Key = '' }) => Key);
};

// A command takes a second or two.
describe('the knowledge of a workspace', () => {
  it('is empty at first, and says so', async () => {
    const chat = await open(await createTenant());
    expect(await chat.search('refund')).toEqual({ results: [], note: 'The knowledge base is empty' });
  });

  it('is found in documents of several formats, with its source', async () => {
    const tenant = await createTenant();
    const taxiPage = ['A taxi is reimbursed', 'up to forty euros.'];
    const files = await Promise.all([
      fileOf('refunds.md', '# Refunds\n\nA refund reaches the customer within fourteen days.'),
      fileOf('travel.pdf', pdfOf([['Contents of this guide'], taxiPage])),
      fileOf('leave.docx', docx('Annual leave is thirty days.')),
      fileOf('休暇.txt', '年間休暇は二十五日です。'),
    ]);
    const added = await add(tenant.workspaceId, ...files);
    expect(added.map(({ name, replaced }) => [name, replaced])).toEqual(
      files.map((file) => [file.slice(folder.length + 1), false]),
    );
    const documents = await list(tenant.workspaceId);
    expect(documents).toHaveLength(files.length);
    expect(documents.find(({ name }) => name === 'refunds.md')).toEqual({
      ...{ id: expect.any(String), name: 'refunds.md', content_type: 'text/markdown' },
      ...{ size: 62, characters: 62, passages: 1 },
      added_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });

    const chat = await open(tenant);
    const [refund] = (await chat.search('How long does a refund take?')).results;
    const document_id = documents.find(({ name }) => name === 'refunds.md')?.id;
    expect(refund).toEqual({
      text: expect.stringContaining('within fourteen days'),
      source: { document_id, name: 'refunds.md', offset: 0 },
      score: expect.any(Number),
    });
    expect(await chat.lastStep()).toMatchObject({
      ...{ type, content: 'Searching the knowledge base', args: { query: 'How long does a refund take?' } },
    });
    const [taxi] = (await chat.search('taxi')).results;
    expect(taxi).toMatchObject({
      text: 'A taxi is reimbursed\nup to forty euros.',
      source: { name: 'travel.pdf', page: 2, offset: 'Contents of this guide\n\n'.length },
    });
    for (const [query, name] of [
      ['annual leave', 'leave.docx'],
      ['休暇は何日ですか', '休暇.txt'],
    ] as const)
      expect(namesOf(await chat.search(query))[0], query).toBe(name);
    expect(await chat.search('zebra')).toEqual({
      results: [],
      note: 'Nothing in the knowledge base matches the query',
    });
  });

  it('says of what is added what could not be read', async () => {
    const tenant = await createTenant();
    const file = await fileOf('form.pdf', formPdf());
    expect(await add(tenant.workspaceId, file)).toMatchObject([{ notices: ['page 2 cannot be read'] }]);
    const lines = await agentctl.lines('knowledge', 'add', '--workspace', tenant.workspaceId, file);
    expect(lines.at(-1)).toBe('form.pdf: page 2 cannot be read');
    const { results } = await (await open(tenant)).search('日本語 Norway');
    expect(results[0]?.text).toContain('日本語');
    expect(results[0]?.text).not.toContain('cannot be read');
  });

  it('forgets what is replaced or removed, and keeps no old index', async () => {
    const tenant = await createTenant();
    const { workspaceId } = tenant;
    const file = await fileOf('prices.md', 'The basic plan costs ten euros.');
    const [first] = await add(workspaceId, file, await fileOf('other.md', 'Other things.'));
    const chat = await open(tenant);
    expect((await chat.search('basic plan')).results[0]?.text).toContain('ten euros');
    await writeFile(file, 'The basic plan costs twelve euros.');
    expect(await add(workspaceId, file)).toMatchObject([
      { id: first?.id, name: 'prices.md', replaced: true },
    ]);
    expect((await chat.search('basic plan')).results.map(({ text }) => text)).toEqual([
      'The basic plan costs twelve euros.',
    ]);
    expect(await objectsOf(tenant)).toHaveLength(1);

    expect(await knowledge('remove', workspaceId, 'other.md', first?.id ?? '')).toMatchObject({
      removed: [{ name: 'other.md' }, { name: 'prices.md' }],
    });
    expect(await list(workspaceId)).toEqual([]);
    expect(await chat.search('basic plan')).toEqual({ results: [], note: 'The knowledge base is empty' });
    expect(await rejection('remove', workspaceId, 'prices.md')).toBe(
      'The workspace has no document prices.md',
    );
  });

  it('is one workspace’s alone', async () => {
    const [mine, other] = [await createTenant(), await createTenant()];
    await add(mine.workspaceId, await fileOf('secret.md', 'The vault opens with a melody.'));
    expect((await (await open(mine)).search('vault')).results).toHaveLength(1);
    expect((await (await open(other)).search('vault')).results).toEqual([]);
    expect(await list(other.workspaceId)).toEqual([]);
    const [document] = await list(mine.workspaceId);
    expect(await rejection('remove', other.workspaceId, document?.id ?? '')).toContain('has no document');
  });

  it('that has lost its index fails as a step, also in a test of the agent', async () => {
    const tenant = await createTenant();
    await add(tenant.workspaceId, await fileOf('lost.md', 'Lost.'));
    const chat = await open(tenant);
    expect((await chat.search('lost')).results).toHaveLength(1);
    const message = `${type} {"query":"lost"}`;
    const tested = async () =>
      JSON.stringify(await agentctl.json('agents', 'test', chat.agentId, message, '--published'));
    expect(await tested()).toContain('lost.md');
    // An environment keeps the index that it has read.
    await add(tenant.workspaceId, await fileOf('new.md', 'New.'));
    for (const Key of await objectsOf(tenant)) await bucket.send(new DeleteObjectCommand({ Bucket, Key }));
    expect(await tested()).toContain('It failed');
  });
});

describe('agentctl knowledge refuses', () => {
  it('files that have no readable text, by their name, and adds nothing', async () => {
    const { workspaceId } = await createTenant();
    const good = await fileOf('good.md', 'Good.');
    const cases: [file: string, says: string][] = [
      [folder, 'cannot be read: it is a folder: name the files in it'],
      [await fileOf('picture.png', 'x'), 'has no extension that text can be read from: .txt, .md'],
      [await fileOf('empty.md', ''), 'is empty'],
      [await fileOf('blank.pdf', pdfOf([[]])), 'has no text: its pages may be pictures'],
      [await fileOf('broken.pdf', 'x'), 'cannot be read as a PDF'],
      [await fileOf('locked.doc', wordDocument('x', { encrypted: true })), 'is protected by a password'],
    ];
    for (const [file, says] of cases) {
      const said = await rejection('add', workspaceId, good, file);
      expect(said).toContain(`${file} ${says}`);
    }
    expect(await list(workspaceId)).toEqual([]);
  });

  it('two documents of one name, and unknown workspaces', async () => {
    const { workspaceId } = await createTenant();
    const file = await fileOf('twice.md', 'Twice.');
    expect(await rejection('add', workspaceId, file, file)).toContain('Two documents are called twice.md');
    const nameForTwo = ['add', '--workspace', workspaceId, '--name', 'x', file, file];
    expect(await agentctl.run('knowledge', ...nameForTwo)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--name is for one file'),
    });
    expect(await rejection('add', 'unknown', file)).toBe('Workspace unknown not found');
    const [named] = await add(workspaceId, '--name', 'The one', file);
    expect(named).toMatchObject({ name: 'The one', content_type: 'text/markdown' });
  });
});

describe('a look-up', async () => {
  const table = closeAfterTests(dataTableOf(service));
  const tenant = await createTenant({ titles: false });
  const openChat = () => chatWithTool(service, tenant, 'consultant_lookup');

  /** A chat with so many previous messages. */
  async function longChat(count: number, content: (position: number) => string) {
    const chat = await openChat();
    const { workspaceId } = tenant;
    const { chatId } = chat;
    await table.writeItems(messageItems({ workspaceId, chatId, count, content }));
    await table.change(keys.chat(workspaceId, chatId), { message_count: count });
    return chat;
  }

  it('finds what was said before, with the message it stands in', async () => {
    const chat = await openChat();
    await chat.say('My cat is called Hannibal.');
    await chat.say('Let us talk of something else.');
    const history = await historyOf(chat.client, chat.chatId);
    const { results, note } = await chat.search('What is the name of the cat?');
    expect(await chat.lastStep()).toMatchObject({
      ...{ type: 'consultant_lookup', content: 'Looking through the conversation' },
      args: { query: 'What is the name of the cat?' },
    });
    expect(note).toBeUndefined();
    expect(results.find(({ source }) => source.role === 'user')).toEqual({
      text: 'My cat is called Hannibal.',
      source: {
        type: 'message',
        message_id: history[0]?.id,
        role: 'user',
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
      score: expect.any(Number),
    });
    expect(results.map(({ score }) => score)).toEqual(
      results.map(({ score }) => score).toSorted((one, other) => other - one),
    );
  });

  it('does not find its own question, nor what was said in another chat', async () => {
    const other = await openChat();
    await other.say('The password is swordfish.');
    const chat = await openChat();
    expect(await chat.search('swordfish')).toEqual({
      results: [],
      note: 'Nothing that was searched matches the query',
    });
  });

  it('reaches beyond what the model sees, and says where it ended', async () => {
    const filler = 'Nothing of note was said here, and nothing of note was answered. '.repeat(2);
    const facts: Record<number, string> = {
      100: 'The treasure is under the willow.',
      501: 'The boat leaves from pier eleven.',
    };
    const chat = await longChat(2400, (position) => facts[position] ?? `${filler} ${position}`);
    const boat = await chat.search('boat pier');
    expect(boat.results[0]).toMatchObject({ text: facts[501], source: { role: 'user' } });
    expect(boat.note).toBe('Only the newest 2000 of 2400 earlier messages were searched');
    const treasure = await chat.search('treasure willow');
    expect(treasure.results.filter(({ text }) => text === facts[100])).toEqual([]);
  });

  it('ends before it has more text than it can hold', async () => {
    const chat = await longChat(30, (position) => `Number ${position}. ${'word '.repeat(40_000)}`);
    const { results, note } = await chat.search('number');
    expect(note).toBe('Only the newest 19 of 30 earlier messages were searched');
    expect(results).toHaveLength(5);
  });
});
