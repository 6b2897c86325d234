import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrozenItem } from './frozen-item.ts';
import type { FrozenMessages } from './frozen-messages.ts';

export const fixtures = join(import.meta.dirname, '../../fixtures/frozen');

export async function readFrozenItems(): Promise<FrozenItem[]> {
  const text = await readFile(join(fixtures, 'items.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line, withBytes) as FrozenItem);
}

/** For `JSON.parse`: the bytes of an attribute of type B. */
const withBytes = (name: string, value: unknown): unknown =>
  name === 'B' && typeof value === 'string' ? Buffer.from(value, 'base64') : value;

export const readFrozenMessages = async (): Promise<FrozenMessages> =>
  JSON.parse(await readFile(join(fixtures, 'messages.json'), 'utf8')) as FrozenMessages;
