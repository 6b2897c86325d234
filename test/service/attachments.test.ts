import { randomFillSync } from 'node:crypto';
import { imageDimensionsFromData } from 'image-dimensions';
import { decode } from 'jpeg-js';
import { describe, expect, it } from 'vitest';
import { countPreparedFiles, lastPrompt, openAttachmentChat } from '#support/attaching.ts';
import { runBatch } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { functionIds } from '#support/entry-points.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { exifOf, pngChunk, pngOf, smallImages } from '#support/image-bytes.ts';
import { docx, pdfOf, presentation, wordBody } from '#support/office-documents.ts';
import { gif, png } from '#support/sample-files.ts';
import type { AgentFields } from '#support/service.ts';
import { startWebServer } from '#support/tool-use.ts';
import { useScriptedService } from '#support/use-service.ts';
import { wordDocument } from '#support/word-document.ts';

const web = closeAfterTests(await startWebServer((_request, response) => response.end()));
const { model, service } = await useScriptedService({ recordCalls: true });

const fact = 'The ferry to Aegina leaves at 10:17';
const openXml = 'application/vnd.openxmlformats-officedocument';
const types = {
  doc: 'application/msword',
  docx: `${openXml}.wordprocessingml.document`,
  html: 'text/html',
  pdf: 'application/pdf',
  pptx: `${openXml}.presentationml.presentation`,
} as const;

const sees = { meta: { vision: true } };

/** The prompt of a new chat whose only message attaches this file. */
async function promptWith(name: string, type: string, content: string | Uint8Array, agent?: AgentFields) {
  const chat = await openAttachmentChat(service, agent);
  const file = await chat.upload(name, content, type);
  expect(await chat.send('What does it say?', file)).toBe('Hello');
  return { chat, file, prompt: lastPrompt(model) };
}

// The first turn of a run starts its functions.
describe('the text of an attached file reaches the model', () => {
  it.each<[name: string, type: string, content: string | Uint8Array]>([
    ['a.txt', 'text/plain', `${fact}.`],
    ['a.html', types.html, `<script>track()</script><p>${fact}.</p>`],
    ['a.pdf', types.pdf, pdfOf([['Ferries'], [fact]])],
    ['a.doc', types.doc, wordDocument(fact)],
    ['a.docx', types.docx, docx(fact)],
    ['a.pptx', types.pptx, presentation([['Ferries'], [fact]])],
  ])('%s, and again with a follow-up', async (name, type, content) => {
    const before = countPreparedFiles(service);
    const { chat, prompt } = await promptWith(name, type, content);
    for (const shown of [fact, name]) expect(prompt).toContain(shown);
    expect(prompt).not.toContain('track()');
    // Strict servers reject content of parts.
    for (const { content: text } of model.calls.at(-1)?.request.messages ?? [])
      expect(text).toBeTypeOf('string');
    await chat.send('And which day?');
    expect(lastPrompt(model).split(fact)).toHaveLength(2);
    expect(countPreparedFiles(service) - before).toBe(1);
  });

  it('of a request of a batch', async () => {
    const batch = await openAttachmentChat(service);
    const file = await batch.upload('a.pdf', pdfOf([[fact]]), 'application/pdf');
    const requests = [{ custom_id: 'one', message: 'When does it leave?', attached_file_uuids: [file] }];
    expect(await runBatch(batch.client, batch, requests)).toMatchObject({ completed_requests: 1 });
    expect(lastPrompt(model)).toContain(fact);
  });

  it('with the message that attaches it again, before the files that were attached meanwhile', async () => {
    const chat = await openAttachmentChat(service);
    // Of a text that does not fit, the prompt has the first 2,000 characters.
    const file = await chat.upload('a.txt', `${'y'.repeat(2000)} ${fact}`, 'text/plain');
    const long = await chat.upload('long.txt', 'x'.repeat(60_000), 'text/plain');
    await chat.send('One', file);
    await chat.send('Two', long);
    expect(lastPrompt(model)).not.toContain(fact);
    await chat.send('Three', file);
    expect(lastPrompt(model)).toMatch(new RegExp(`${fact}[^{}]*Three`));
    expect(lastPrompt(model).split(fact)).toHaveLength(2);
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

describe('a document that is too long for the prompt', () => {
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

it('the model is told why it has no text of a file, and is asked, and the file is read once', async () => {
  const before = countPreparedFiles(service);
  const broken = '%PDF-1.4\nHello';
  const { chat, file, prompt } = await promptWith('a.pdf', types.pdf, broken);
  expect(prompt).toContain('[The attached file \\"a.pdf\\" cannot be read as a PDF');
  await chat.send('And then?');
  expect(lastPrompt(model)).toContain('cannot be read as a PDF');
  const other = await chat.upload('other.txt', 'Something else', 'text/plain');
  await chat.send('And this?', file, other);
  expect(countPreparedFiles(service) - before).toBe(2);
});

describe('nothing is fetched or run for', () => {
  it.each<[name: string, type: string, content: () => string | Uint8Array]>([
    [
      'a.docx',
      types.docx,
      () =>
        wordBody(
          `<w:p><w:r><w:t>Seen</w:t></w:r></w:p><w:p><w:r><w:drawing><a:blip r:link="x"/></w:drawing></w:r></w:p>`,
          [
            ['x', 'image', `${web.url}/image" TargetMode="External`],
            ['y', 'attachedTemplate', `${web.url}/template" TargetMode="External`],
          ],
        ),
    ],
    [
      'a.html',
      types.html,
      () =>
        `<link rel=stylesheet href=${web.url}/css><script src=${web.url}/js></script><script>fetch('${web.url}/run')</script><img src=${web.url}/img onerror="fetch('${web.url}/handler')"><iframe src=${web.url}/frame></iframe><p>Seen`,
    ],
  ])('%s', async (name, type, content) => {
    const { prompt } = await promptWith(name, type, content());
    expect(prompt).toContain('Seen');
    expect(prompt).not.toContain('fetch(');
    expect(web.received).toEqual([]);
  });
});

describe('an image', () => {
  it('is seen by a model that sees, and again with a follow-up', async () => {
    const url = `data:image/png;base64,${png.toString('base64')}`;
    const part = { type: 'image_url', image_url: { url } };
    const { chat } = await promptWith('a.png', 'image/png', png, sees);
    expect(model.calls.at(-1)?.request.messages.at(-1)?.content).toEqual([
      part,
      { type: 'text', text: 'What does it say?' },
    ]);
    await chat.send('Are you sure?');
    expect(model.calls.at(-1)?.request.messages[0]?.content).toContainEqual(part);
  });

  it.each<[which: string, agent: AgentFields]>([
    ['does not', {}],
    ['must not', { llm_model: 'openai:gpt-4o', meta: { vision: false } }],
  ])('is told of to a model that %s', async (_which, agent) => {
    const { prompt } = await promptWith('cat.png', 'image/png', png, agent);
    expect(prompt).not.toContain('image_url');
    expect(prompt).toContain('[The image \\"cat.png\\" is attached, but this model cannot see images.]');
  });
});

const noise = (line: Buffer): void => {
  randomFillSync(line);
};
const red = (line: Buffer): void => {
  for (let at = 0; at < line.length; at += 3) line[at] = 255;
};

/** The image in the model's last request. */
function shown(): { mediaType: string; bytes: Buffer } {
  const { content } = model.calls.at(-1)?.request.messages[0] ?? {};
  const [part] = content as unknown as { image_url?: { url: string } }[];
  const [, mediaType = '', data = ''] = /^data:([^;]+);base64,(.*)$/.exec(part?.image_url?.url ?? '') ?? [];
  return { mediaType, bytes: Buffer.from(data, 'base64') };
}

describe('an image that is too large for models', () => {
  it.each([
    ['of too many bytes', { width: 1500, height: 1000 }, noise, { width: 1500, height: 1000 }],
    ['of too many pixels a side', { width: 9000, height: 900 }, red, { width: 2048, height: 205 }],
  ])('%s is made smaller, once', async (_how, size, pixels, expected) => {
    const before = countPreparedFiles(service);
    const { chat } = await promptWith('a.png', 'image/png', pngOf(size, pixels), sees);
    const { mediaType, bytes } = shown();
    expect(mediaType).toBe('image/jpeg');
    expect(bytes.length).toBeLessThanOrEqual(3.75 * 1024 * 1024);
    expect(imageDimensionsFromData(bytes)).toEqual({ ...expected, type: 'jpeg' });
    await chat.send('Are you sure?');
    expect(shown().bytes).toEqual(bytes);
    expect(countPreparedFiles(service) - before).toBe(1);
  });

  const small = { width: 10, height: 10 };
  it.each<[why: string, type: string, bytes: () => Buffer, reason: string]>([
    [
      'has more pixels than are read, whatever it unpacks to',
      'png',
      () => pngOf(small, red, { width: 50_000, height: 50_000 }),
      'has 50000 by 50000 pixels, more than the 50 million that are read',
    ],
    ['is broken', 'png', () => pngOf(small, red, { width: 9000, height: 900 }), 'cannot be read as an image'],
    [
      'is of a type without a decoder',
      'gif',
      () => Buffer.concat([gif, Buffer.alloc(4 * 1024 * 1024)]),
      'is of a type that cannot be made smaller here',
    ],
  ])('is told of when it %s', async (_why, type, bytes, reason) => {
    const { chat, prompt } = await promptWith(`a.${type}`, `image/${type}`, bytes(), sees);
    expect(prompt).toContain(reason);
    expect(prompt).not.toContain('image_url');
    expect(await chat.send('And without it?')).toBe('Hello');
  });
});

it('images are shown upright, in RGB, and their first frame alone', async () => {
  const { turnedWebp, turnedCmykJpeg, turnedJpeg, animatedGif } = smallImages;
  const redThenBlue = (line: Buffer): void => {
    for (let at = 0; at < line.length; at += 3) line[at < line.length / 2 ? at : at + 2] = 255;
  };
  const size = { width: 8200, height: 80 };
  const turnedPng = pngOf(size, redThenBlue, size, [pngChunk('eXIf', exifOf(6))]);
  const chat = await openAttachmentChat(service, sees);
  const uploads = {
    png: turnedPng,
    webp: turnedWebp,
    jpeg: turnedCmykJpeg,
    jpg: turnedJpeg,
    gif: animatedGif,
  };
  const files = await Promise.all(
    Object.entries(uploads).map(([name, bytes]) =>
      chat.upload(`e.${name}`, bytes, `image/${name === 'jpg' ? 'jpeg' : name}`),
    ),
  );
  await chat.send('What are they?', ...files);
  const content = model.calls.at(-1)?.request.messages[0]?.content as unknown as {
    text?: string;
    image_url?: { url: string };
  }[];
  const images = content.flatMap(({ image_url }) => image_url?.url.split(';base64,') ?? []);
  const shownTypes = images.filter((_, index) => index % 2 === 0);
  expect(shownTypes).toEqual([...Array.from({ length: 4 }, () => 'data:image/jpeg'), 'data:image/gif']);
  for (const data of [images[1], images[3], images[5], images[7]]) {
    const { width, height, data: pixels } = decode(Buffer.from(data ?? '', 'base64'));
    expect(height).toBeGreaterThan(width);
    const [top, bottom] = [pixels.subarray(0, 3), pixels.subarray(-4, -1)];
    expect({ top: (top[0] ?? 0) > 200 && (top[2] ?? 0) < 60, bottom: (bottom[2] ?? 0) > 200 }).toEqual({
      top: true,
      bottom: true,
    });
  }
  expect(content.at(-3)?.text).toBe('[The image "e.gif": animated: only its first frame is shown]');
});

it('an image is shown to batches that go on with its chat, and both are told when it is gone', {
  timeout: 60_000,
}, async () => {
  const chat = await openAttachmentChat(service, sees);
  const image = pngOf({ width: 10, height: 10 }, red);
  const file = await chat.upload('a.png', image, 'image/png');
  const other = await chat.upload('b.png', image, 'image/png');
  const sendInBatch = async (): Promise<void> => {
    const requests = [{ custom_id: 'a', message: 'And now?', history_id: chat.chatId }];
    expect(await runBatch(chat.client, chat, requests)).toMatchObject({ completed_requests: 1 });
  };
  await chat.send('What is it?', file);
  expect(shown().bytes).toEqual(image);
  await sendInBatch();
  expect(shown().bytes).toEqual(image);

  for (const uuid of [file, other]) await fileBucketOf(service).remove(chat.workspaceId, uuid);
  // Warm threads have the image in memory.
  for (const name of [functionIds['send-message'], 'ProcessBatchItems'])
    expect(service.run.killWorkers(name)).toBeGreaterThan(0);
  await chat.send('Is it still there?');
  expect(lastPrompt(model)).toContain('is no longer there');
  await sendInBatch();
  expect(lastPrompt(model)).toContain('is no longer there');
  expect(lastPrompt(model)).not.toContain('image_url');
  // An image that no model had seen before is reported as missing too.
  await chat.send('And this one?', other);
  expect(lastPrompt(model).match(/is no longer there/g)).toHaveLength(2);
});
