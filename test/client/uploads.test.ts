import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { typeOfExtension } from '#contract/upload.ts';
import { contentTypes } from '#lib/client/files.ts';
import { ChatBatchClient, type UploadedFile } from '#lib/client/index.ts';
import { openFile } from '#lib/client/node.ts';
import { useScriptedService } from '#support/use-service.ts';

const { service, tenant } = await useScriptedService();
const client = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey: tenant.apiKey });
const text = 'one,two\n';
const contentOf = async ({ file_url }: UploadedFile) => (await fetch(file_url)).text();

test('a Blob, a File, a Buffer and a file of the disk are uploaded with their names and types', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'uploads-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'disk é.csv');
  await writeFile(path, text);
  const uploads: [upload: Promise<UploadedFile>, name: string, type: string][] = [
    [
      client.files.upload(new Blob([text], { type: 'text/plain' }), { name: 'blob.txt' }),
      'blob.txt',
      'text/plain',
    ],
    [client.files.upload(new File([text], 'file.md')), 'file.md', 'text/markdown'],
    [client.files.upload(Buffer.from(text), { name: 'buffer.CSV' }), 'buffer.CSV', 'text/csv'],
    [client.files.upload(new File([text], 'a.csv'), { name: 'b.txt', type: 'text/x' }), 'b.txt', 'text/x'],
    [client.files.upload(await openFile(path)), 'disk é.csv', 'text/csv'],
    // As a browser names it where a spreadsheet program opens .csv.
    [
      client.files.upload(new File([text], 'sheet.csv', { type: 'application/vnd.ms-excel' })),
      'sheet.csv',
      'text/csv',
    ],
    [
      client.files.upload(new File([text], 'old.csv', { type: 'text/plain;charset=windows-1252' })),
      'old.csv',
      'text/plain;charset=windows-1252',
    ],
  ];
  for (const [upload, original_name, content_type] of uploads) {
    const file = await upload;
    expect(file).toMatchObject({ original_name, content_type, size: text.length, scope: 'persistent' });
    expect(await contentOf(file)).toBe(text);
  }
  const ephemeral = await client.files.upload(Buffer.from(text), { name: 'a.txt', scope: 'ephemeral' });
  expect(ephemeral.scope).toBe('ephemeral');
  await expect(client.files.upload(Buffer.from(text))).rejects.toThrow('The file has no name');
});

test('the library and the playground know the type of each extension', async () => {
  const ofContract = Object.entries(typeOfExtension).map(([extension, type]) => [extension.slice(1), type]);
  expect(contentTypes).toEqual(Object.fromEntries(ofContract));
  const ofPlayground = await import(
    String(new URL('../../bin/local/playground/content-types.js', import.meta.url))
  );
  expect(ofPlayground.contentTypes).toEqual(contentTypes);
});
