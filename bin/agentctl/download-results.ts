import type { FileHandle } from 'node:fs/promises';
import type { Batch, ChatBatchClient } from '#lib/client/index.ts';
import { reasonOf } from '#local/data/state-file.ts';
import { writeWhole } from './partial-file.ts';
import { type ResultsOptions, readResults } from './read-results.ts';

export interface DownloadOptions extends ResultsOptions {
  out: string;
  onProgress: (results: number) => void;
}

/**
 * @returns the number of results of each batch
 * @throws Error such as for a missing result, or a file that cannot be written; the client's errors
 */
export async function downloadResults(
  client: ChatBatchClient,
  batches: readonly Batch[],
  options: DownloadOptions,
): Promise<number[]> {
  const counts = batches.map(() => 0);
  let total = 0;
  async function* lines(): AsyncGenerator<string> {
    for (const [index, batch] of batches.entries())
      for await (const result of readResults(client, batch, options)) {
        counts[index] = (counts[index] ?? 0) + 1;
        total += 1;
        options.onProgress(total);
        yield jsonLine(result);
      }
  }
  await writeWhole(options.out, (file) => writeTexts(file, lines()));
  return counts;
}

export const jsonLine = (value: object): string => `${JSON.stringify(value)}\n`;

const writeCharacters = 64 * 1024;

export async function writeTexts(file: FileHandle, texts: AsyncIterable<string>): Promise<void> {
  let buffered = '';
  const write = () =>
    file.appendFile(buffered).catch((error: unknown) => {
      throw new Error(`The results cannot be written: ${reasonOf(error)}`);
    });
  for await (const text of texts) {
    buffered += text;
    if (buffered.length < writeCharacters) continue;
    await write();
    buffered = '';
  }
  await write();
}
