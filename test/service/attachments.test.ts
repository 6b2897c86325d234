import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { countPreparedFiles, lastPrompt, openAttachmentChat } from '#support/attaching.ts';
import { submit, waitForBatchEnd } from '#support/batches.ts';
import { dataTableOf } from '#support/data-table.ts';
import { pdfOf, presentation } from '#support/office-documents.ts';
import { docx } from '#support/sample-files.ts';
import { type ScriptedModel, startScriptedModel } from '#support/scripted-model.ts';
import { type Service, startService } from '#support/service.ts';
import { wordDocument } from '#support/word-document.ts';

let model: ScriptedModel;
let service: Service;
beforeAll(async () => {
  model = await startScriptedModel();
  service = await startService({ variables: { OPENAI_BASE_URL: model.url }, recordCalls: true });
});
afterAll(async () => {
  await service.close();
  await model.close();
});

const fact = 'The ferry to Aegina leaves at 10:17';
const openXml = 'application/vnd.openxmlformats-officedocument';

// The first turn of a run starts its functions.
describe('the text of an attached file reaches the model', { timeout: 60_000 }, () => {
  it.each<[name: string, type: string, content: string | Uint8Array]>([
    ['a.txt', 'text/plain', `${fact}.`],
    ['a.md', 'text/markdown', `# Ferries\n\n${fact}.`],
    ['a.csv', 'text/csv', `day,text\nMonday,${fact}\n`],
    ['a.html', 'text/html', `<script>track()</script><p>${fact}.</p>`],
    ['a.pdf', 'application/pdf', pdfOf([['Ferries'], [fact]])],
    ['a.doc', 'application/msword', wordDocument(fact)],
    ['a.docx', `${openXml}.wordprocessingml.document`, docx(fact)],
    ['a.pptx', `${openXml}.presentationml.presentation`, presentation([['Ferries'], [fact]], 'Speak up')],
  ])('%s, and again with a follow-up', async (name, type, content) => {
    const chat = await openAttachmentChat(service);
    const file = await chat.upload(name, content, type);
    const before = countPreparedFiles(service);
    expect(await chat.send('When does it leave?', file)).toBe('Hello');
    expect(lastPrompt(model)).toContain(fact);
    expect(lastPrompt(model)).toContain(name);
    expect(lastPrompt(model)).not.toContain('track()');
    await chat.send('And which day?');
    expect(lastPrompt(model).split(fact)).toHaveLength(2);
    expect(countPreparedFiles(service) - before).toBe(1);
  });

  it('of a request of a batch', async () => {
    const batch = await openAttachmentChat(service);
    const file = await batch.upload('a.pdf', pdfOf([[fact]]), 'application/pdf');
    const submitted = await submit(batch.client, batch, [
      { custom_id: 'one', message: 'When does it leave?', attached_file_uuids: [file] },
    ]);
    expect(await waitForBatchEnd(batch.client, submitted.id)).toMatchObject({ completed_requests: 1 });
    expect(lastPrompt(model)).toContain(fact);
  });

  it('once, when two messages attach it', async () => {
    const chat = await openAttachmentChat(service);
    const file = await chat.upload('a.txt', fact, 'text/plain');
    await chat.send('One', file);
    await chat.send('Two', file);
    expect(lastPrompt(model)).toContain(fact);
  });
});

/** Makes the model search before it replies, and passes the result to `run`. */
async function whileSearching(
  query: string,
  run: (found: () => SearchResult) => Promise<void>,
): Promise<void> {
  const { onCall } = model;
  let found: string | undefined;
  model.onCall = (call) => {
    const last = call.request.messages.at(-1);
    if (last?.role === 'tool') {
      found = last.content;
      call.chunk('Found');
    } else call.callTools({ name: 'consultant_lookup', arguments: { query } });
    call.finish();
  };
  try {
    await run(() => JSON.parse(found ?? '') as SearchResult);
  } finally {
    model.onCall = onCall;
  }
}

interface SearchResult {
  data: { results: { text: string; source: Record<string, unknown> }[] };
}

describe('a document that is too long for the prompt', { timeout: 60_000 }, () => {
  const filler = 'Nothing of note was written on this line of the report. ';
  const report = (lines: number): string =>
    `The beginning of the report. ${filler.repeat(lines)} ${fact}. ${filler.repeat(lines)}`;

  it('is begun there and searched by a tool that the agent need not have', async () => {
    const chat = await openAttachmentChat(service);
    const file = await chat.upload('report.md', report(1200), 'text/markdown');
    await whileSearching('ferry Aegina', async (found) => {
      for (const attached of [[file], []]) {
        await chat.send('When does it leave?', ...attached);
        const { messages, tools } = model.calls.at(-2)?.request ?? {};
        const prompt = JSON.stringify(messages);
        expect(messages?.at(-1)?.role).toBe('user');
        expect(prompt).toContain('The beginning of the report');
        expect(prompt).toContain('Search the rest with the tool consultant_lookup');
        expect(prompt).not.toContain(fact);
        expect(tools?.map((tool) => tool.function.name)).toEqual(['consultant_lookup']);
        expect(found().data.results[0]).toMatchObject({
          text: expect.stringContaining(fact),
          source: { type: 'file', file_uuid: file, name: 'report.md' },
        });
      }
    });
    expect((await chat.history()).at(-1)?.meta.reasoning_steps).toMatchObject([
      { type: 'consultant_lookup', result: { success: true } },
    ]);
  });

  it('leaves its place to those that fit, the newest first', async () => {
    const chat = await openAttachmentChat(service);
    const [older, newer, short] = [
      await chat.upload('older.txt', `older ${report(500)}`, 'text/plain'),
      await chat.upload('newer.txt', `newer ${report(500)}`, 'text/plain'),
      await chat.upload('short.txt', 'Short and sweet', 'text/plain'),
    ];
    await chat.send('What do they say?', older, newer, short);
    const prompt = lastPrompt(model);
    expect(prompt).toContain('This is only the beginning of \\"older.txt\\"');
    expect(prompt).not.toContain('This is only the beginning of \\"newer.txt\\"');
    expect(prompt).toContain('Short and sweet');
  });

  it('tells the page of what is found in a PDF', async () => {
    const chat = await openAttachmentChat(service);
    const lines = Array.from({ length: 50 }, () => filler);
    const pages = Array.from({ length: 40 }, (_, index) => (index === 29 ? [fact] : lines));
    const file = await chat.upload('report.pdf', pdfOf(pages), 'application/pdf');
    await whileSearching('ferry Aegina', async (found) => {
      await chat.send('When does it leave?', file);
      const source = { type: 'file', file_uuid: file, name: 'report.pdf', page: 30 };
      expect(found().data.results[0]?.source).toEqual(source);
    });
  });
});

it('tells the model of a file that is gone by a follow-up', async () => {
  const chat = await openAttachmentChat(service);
  const file = await chat.upload('gone.txt', fact, 'text/plain', { scope: 'ephemeral' });
  await chat.send('When does it leave?', file);
  await endDay(chat, file);
  await chat.send('And then?');
  expect(lastPrompt(model)).toContain('[The attached file \\"gone.txt\\" is no longer there');
  expect(lastPrompt(model)).not.toContain(fact);
}, 60_000);

/** Makes an ephemeral file expire now, both in its own item and in the chat's first message. */
async function endDay({ workspaceId, chatId }: Chat, uuid: string): Promise<void> {
  const table = dataTableOf(service);
  const past = { expires_at: new Date(Date.now() - 1).toISOString() };
  await table.change(keys.file(workspaceId, uuid), past);
  const key = keys.message(workspaceId, chatId, 1);
  const [file] = ((await table.read(key))?.files ?? []) as object[];
  await table.change(key, { files: [{ ...file, ...past }] });
}

type Chat = Awaited<ReturnType<typeof openAttachmentChat>>;
