import { randomFillSync } from 'node:crypto';
import { imageSize } from 'image-size';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countPreparedFiles, lastPrompt, openAttachmentChat } from '#support/attaching.ts';
import { submit, waitForBatchEnd } from '#support/batches.ts';
import { functionIds } from '#support/entry-points.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { pngOf } from '#support/image-bytes.ts';
import { gif } from '#support/sample-files.ts';
import { type ScriptedModel, startScriptedModel } from '#support/scripted-model.ts';
import { type Service, startService } from '#support/service.ts';

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

const seeing = () => openAttachmentChat(service, { meta: { vision: true } });

// The first turn of a run starts its functions, and decoders are compiled at their first use.
describe('an image that is too large for models', { timeout: 60_000 }, () => {
  it.each([
    ['of too many bytes', { width: 1500, height: 1000 }, noise, { width: 1500, height: 1000 }],
    ['of too many pixels a side', { width: 9000, height: 900 }, red, { width: 2048, height: 205 }],
    ['of as many pixels as are read', { width: 8200, height: 6000 }, red, { width: 2048, height: 1499 }],
  ])('%s is made smaller, once', async (_how, size, pixels, expected) => {
    const chat = await seeing();
    const file = await chat.upload('a.png', pngOf(size, pixels), 'image/png');
    const before = countPreparedFiles(service);
    await chat.send('What is it?', file);
    const { mediaType, bytes } = shown();
    expect(mediaType).toBe('image/jpeg');
    expect(bytes.length).toBeLessThanOrEqual(3.75 * 1024 * 1024);
    expect(imageSize(bytes)).toMatchObject({ ...expected, type: 'jpg' });
    await chat.send('Are you sure?');
    expect(shown().bytes).toEqual(bytes);
    expect(countPreparedFiles(service) - before).toBe(1);
  });

  it.each<[why: string, name: string, bytes: () => Buffer, reason: string]>([
    [
      'has more pixels than are read, whatever it unpacks to',
      'a.png',
      () => pngOf({ width: 10, height: 10 }, red, { width: 50_000, height: 50_000 }),
      'has 50000 by 50000 pixels, more than the 50 million that are read',
    ],
    [
      'is broken',
      'a.png',
      () => pngOf({ width: 10, height: 10 }, red, { width: 9000, height: 900 }),
      'cannot be read as an image',
    ],
    [
      'is of a type without a decoder',
      'a.gif',
      () => Buffer.concat([gif, Buffer.alloc(4 * 1024 * 1024)]),
      'is of a type that cannot be made smaller here',
    ],
  ])('is told of when it %s', async (_why, name, bytes, reason) => {
    const chat = await seeing();
    const file = await chat.upload(name, bytes(), `image/${name.slice(2)}`);
    await chat.send('What is it?', file);
    expect(lastPrompt(model)).toContain(reason);
    expect(lastPrompt(model)).not.toContain('image_url');
  });
});

it('an image is shown to batches that go on with its chat, and both are told when it is gone', {
  timeout: 60_000,
}, async () => {
  const chat = await seeing();
  const image = pngOf({ width: 10, height: 10 }, red);
  const file = await chat.upload('a.png', image, 'image/png');
  const other = await chat.upload('b.png', image, 'image/png');
  const sendInBatch = async (): Promise<void> => {
    const requests = [{ custom_id: 'a', message: 'And now?', history_id: chat.chatId }];
    const { id } = await submit(chat.client, chat, requests);
    expect(await waitForBatchEnd(chat.client, id)).toMatchObject({ completed_requests: 1 });
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
