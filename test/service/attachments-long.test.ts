import { expect, it } from 'vitest';
import { lastPrompt, openAttachmentChat } from '#support/attaching.ts';
import { useScriptedService } from '#support/use-service.ts';

const isSoak = process.env.SOAK !== undefined;
/** In the soak, the longest text that the extraction returns, 38 MB; otherwise a little more than a look-up reads. */
const characters = isSoak ? 19_000_000 : 4_100_000;
const filesOfMessage = isSoak ? 10 : 1;

// It fails to close if a function has used more memory than its limit.
const { model, service } = await useScriptedService({});

it('a chat goes on whose two messages attach texts of 38 MB', {
  timeout: isSoak ? 1_800_000 : 120_000,
}, async () => {
  const chat = await openAttachmentChat(service);
  const text = Buffer.from('Слово и слово. '.repeat(characters / 15));
  for (const message of ['One', 'Two']) {
    const files: string[] = [];
    for (let count = 0; count < filesOfMessage; count += 1)
      files.push(await chat.upload(`${message}-${count}.txt`, text, 'text/plain'));
    expect(await chat.send(message, ...files)).toBe('Hello');
  }
  model.onCall = (call) => {
    const last = call.request.messages.at(-1);
    if (last?.role === 'tool') call.chunk(last.content);
    else call.callTools({ name: 'consultant_lookup', arguments: { query: 'слово' } });
    call.finish();
  };
  const found = JSON.parse(await chat.send('And what do they say?')) as { data: { note: string } };
  expect(found.data.note).toContain('"Two-0.txt" was not searched: it is too long');
  const prompt = lastPrompt(model);
  expect(prompt).toContain('This is only the beginning of \\"Two-0.txt\\"');
  expect(prompt.length).toBeLessThan(200_000);
});
