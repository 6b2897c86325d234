import { LambdaClient } from '@aws-sdk/client-lambda';
import { S3Client } from '@aws-sdk/client-s3';
import { attachmentReader } from '#adapters/attachment-reader.ts';
import { rankTexts } from '#adapters/knowledge/knowledge-index.ts';
import { s3PreparedAttachments } from '#adapters/prepared-attachments.ts';
import { showAttachments } from '#agents/attachments.ts';
import { chatTexts } from '#agents/tools/chat-texts.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { FileStore, StoredFile } from '#domain/files/files.ts';

/** The memory that reading the files of a conversation took, measured in its own process. */
export interface WindowRead {
  shownCharacters: number;
  shownMegabytes: number;
  notes: string[];
  found: number;
  searchMegabytes: number;
}

// This program runs in its own process, so that the peak is only its own. The parent process serves the bucket.
const [endpoint = '', names = '[]'] = process.argv.slice(2);
const files = (JSON.parse(names) as string[]).map(
  (uuid): StoredFile => ({
    ...{ uuid, workspaceId: 'ws', name: `${uuid}.txt`, contentType: 'text/plain', size: 38_000_000 },
    ...{ scope: 'persistent', createdAt: '2026-01-01T00:00:00.000Z', expiresAt: null },
  }),
);
const client = new S3Client({
  ...{ endpoint, region: 'us-east-1', forcePathStyle: true },
  credentials: { accessKeyId: 'a', secretAccessKey: 's' },
});
const reader = attachmentReader(
  {
    clock: { now: () => new Date() },
    shares: { wait: async () => () => undefined },
    files: {} as FileStore,
    prepared: s3PreparedAttachments(client, 'bucket'),
  },
  new LambdaClient({ region: 'us-east-1' }),
  () => 'none',
);
const { signal } = new AbortController();
/** The process's highest resident memory after `work`, minus its memory before, in MiB. */
const peakBeyond = async (work: () => Promise<void>): Promise<number> => {
  const before = process.memoryUsage.rss();
  await work();
  return process.resourceUsage().maxRSS / 1024 - before / 1024 / 1024;
};

await reader.read({ ...(files[0] as StoredFile), uuid: 'small' }, { whole: 100, start: 0 }, signal);
let shownCharacters = 0;
const shownMegabytes = await peakBeyond(async () => {
  const { parts } = await showAttachments(reader, files, { seesImages: true, signal });
  for (const part of [...parts.values()].flat())
    shownCharacters += part.type === 'text' ? part.text.length : 0;
});
let notes: string[] = [];
let found = 0;
const searchMegabytes = await peakBeyond(async () => {
  const search = chatTexts({
    attachments: () => reader,
    messages: () => ({ range: async function* () {} }),
  });
  const searched = await search({ chat: { id: 1, messageCount: 0 } as Chat, attachments: files, signal });
  notes = searched.notes;
  found = rankTexts(searched.texts, 'слово', 5).length;
});
console.log(
  JSON.stringify({ shownCharacters, shownMegabytes, notes, found, searchMegabytes } satisfies WindowRead),
);
