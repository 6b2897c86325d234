import { LambdaClient } from '@aws-sdk/client-lambda';
import { expect, it } from 'vitest';
import { attachmentReader } from '#adapters/attachment-reader.ts';
import type { FileStore } from '#domain/ports/file-store.ts';
import type { PreparedAttachments } from '#domain/ports/prepared-attachments.ts';
import type { StoredFile } from '#domain/stored-file.ts';

it('asks for nothing when the reply has ended before it begins', async () => {
  const asked: string[] = [];
  const refuse = (name: string) => (): never => {
    asked.push(name);
    throw new Error(`${name} was asked`);
  };
  const reader = attachmentReader(
    {
      clock: { now: () => new Date() },
      files: { read: refuse('files') } as unknown as FileStore,
      prepared: { get: refuse('prepared') } as unknown as PreparedAttachments,
    },
    new LambdaClient({ region: 'us-east-1' }),
    () => 'prepare-attachment',
  );
  const file = { uuid: 'file', workspaceId: 'ws', expiresAt: null } as StoredFile;
  await expect(reader.read(file, AbortSignal.abort(new Error('The reply has ended')))).rejects.toThrow(
    'The reply has ended',
  );
  expect(asked).toEqual([]);
});
