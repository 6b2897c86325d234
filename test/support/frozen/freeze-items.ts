import { writeFile } from 'node:fs/promises';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { openTable } from '../open-table.ts';
import { writeEveryKind } from './every-kind.ts';
import type { FrozenItem } from './read-frozen.ts';
import { storesOn } from './stores.ts';

/** In characters. Longer texts are cut, because their rest does not matter to readers of items. */
const longestText = 1000;

/** The items that the stores write today. */
export async function currentItems(): Promise<FrozenItem[]> {
  const table = await openTable();
  try {
    await writeEveryKind(storesOn(table.table));
    return (await table.dump()).map(shortened);
  } finally {
    await table.close();
  }
}

export async function freezeItems(file: string): Promise<void> {
  const items = await currentItems();
  await writeFile(file, items.map((item) => `${JSON.stringify(item, withBase64)}\n`).join(''));
}

/** For `JSON.stringify`: bytes are base64, as on DynamoDB's wire. */
const withBase64 = (_name: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;

function shortened(item: FrozenItem): FrozenItem {
  const short = (value: AttributeValue): AttributeValue =>
    value.S !== undefined && value.S.length > longestText ? { S: value.S.slice(0, longestText) } : value;
  const { pk, sk, ...others } = item;
  const attributes = Object.entries(others).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries([
    ...Object.entries({ pk, sk }),
    ...attributes.map(([name, value]) => [name, short(value)] as const),
  ]) as unknown as FrozenItem;
}
