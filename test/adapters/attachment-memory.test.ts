import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { listenLocally } from '#support/listen-locally.ts';
import type { WindowRead } from '#support/read-window.ts';

/** Cyrillic has two bytes for each character: 38 MB of UTF-8, the most that text extraction returns. */
const longCharacters = 19_000_000;
/** A text that is just short enough for a look-up. */
const searchedCharacters = 3_900_000;

/** A hundred thousand characters, with 5000 words that are in no other chunk. */
const chunk = (first: number): string =>
  Array.from({ length: 5000 }, (_, word) => `слово ${(first + word).toString().padStart(13)} `).join('');
const sameChunk = chunk(0);

function* prepared(name: string): Generator<string> {
  const characters = { small: 5, searched: searchedCharacters }[name] ?? longCharacters;
  const isOld = name.endsWith('old');
  yield isOld
    ? '{"type":"text","text":"'
    : `{"type":"text","characters":${characters},"pageOffsets":[],"text":"`;
  for (let left = characters; left > 0; left -= sameChunk.length)
    yield (name === 'searched' ? chunk(left) : sameChunk).slice(0, left);
  yield isOld ? '","pageOffsets":[]}' : '"}';
}

it('reads twenty texts of 19 million characters, in either form, and holds less than 100 MB of them', {
  timeout: 180_000,
}, async () => {
  let bytesSent = 0;
  const server = createServer((request, response) => {
    const name = /attachments\/persistent\/ws\/([^/]+)\/content\.json/.exec(request.url ?? '')?.[1] ?? '';
    const counted = function* (): Generator<string> {
      for (const chunk of prepared(name)) {
        bytesSent += Buffer.byteLength(chunk);
        yield chunk;
      }
    };
    response.writeHead(200, { 'Content-Type': 'application/json' });
    pipeline(Readable.from(counted(), { highWaterMark: 1 }), response).catch(() => undefined);
  });
  const { url, close } = await listenLocally(server);
  onTestFinished(close);
  const names = Array.from({ length: 20 }, (_, index) => `${index}-${index % 5 === 0 ? 'old' : 'new'}`);
  const { stdout } = await promisify(execFile)(process.execPath, [
    // In megabytes; the program itself needs about 20.
    '--max-old-space-size=80',
    join(import.meta.dirname, '../support/read-window.ts'),
    url,
    JSON.stringify([...names, 'searched']),
  ]);
  const read = JSON.parse(stdout) as WindowRead;
  console.log(`${Math.round(bytesSent / 1e6)} MB sent, ${JSON.stringify(read)}`);
  expect(read.shownCharacters).toBeGreaterThan(20 * 2000);
  expect(read.shownCharacters).toBeLessThan(80_000);
  expect(read.shownMegabytes).toBeLessThan(100);
  expect(read.found).toBe(5);
  // It includes uncollected garbage, which differs from run to run: 125 to 150 MB were measured. All twenty texts
  // together have 760 MB.
  expect(read.searchMegabytes).toBeLessThan(250);
});
