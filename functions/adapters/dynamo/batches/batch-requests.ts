import { keys } from '#adapters/dynamo/table/keys.ts';
import { attributesNamed, type Item, startingWith, type Table } from '#adapters/dynamo/table/table.ts';
import type { ResponseFormat } from '#contract/response-format.ts';
import {
  type Batch,
  type BatchRequest,
  type ManifestEntry,
  requestsPerGroup,
} from '#domain/batches/batch.ts';
import type { RequestEraser, RequestsOfUser } from '#domain/batches/batch-store.ts';
import { groupsOf } from '#domain/platform/services.ts';

/**
 * The texts of a group with more bytes get items of their own. The rest of an item's 400 KB is for the other
 * attributes.
 */
const groupTextBytes = 300_000;

/** Of one part of the manifest, as estimated. Each part is one item, of at most 400 KB. */
const manifestBytes = 300_000;

const retentionAfterExpirySeconds = 30 * 24 * 60 * 60;

type Owner = Pick<Batch, 'workspaceId' | 'id' | 'createdAt' | 'expiresAt'>;

export function requestItems(
  batch: Owner,
  requests: readonly BatchRequest[],
  format?: ResponseFormat,
): Item[] {
  const ttl = Math.floor(Date.parse(batch.expiresAt) / 1000) + retentionAfterExpirySeconds;
  const items: Item[] = manifestItems(batch, requests);
  if (format !== undefined)
    items.push({ ...keys.batchFormat(batch.workspaceId, batch.id), format: JSON.stringify(format), ttl });
  for (const { historyId, requestIndex } of requests)
    if (historyId !== null)
      items.push({ ...keys.chatBatchRequest(batch.workspaceId, historyId, batch.id, requestIndex), ttl });
  for (const [user, ofUser] of Map.groupBy(requests, ({ externalUserId }) => externalUserId))
    if (user !== null)
      items.push({
        ...keys.userBatch(batch.workspaceId, user, batch.createdAt, batch.id),
        requests: ofUser.map(({ requestIndex }) => requestIndex),
        ttl,
      });
  for (const [index, group] of groupsOf(requests, requestsPerGroup).entries()) {
    const bytes = group.reduce((sum, { message }) => sum + Buffer.byteLength(message), 0);
    const apart = bytes > groupTextBytes;
    if (apart)
      items.push(
        ...group.map(({ requestIndex, message }) => ({
          ...keys.batchText(batch.workspaceId, batch.id, requestIndex),
          message,
          ttl,
        })),
      );
    items.push({
      ...keys.batchRequests(batch.workspaceId, batch.id, index),
      requests: group.map((request) => entryOf(request, apart)),
      ttl,
    });
  }
  return items;
}

const entries = attributesNamed<Omit<BatchRequest, 'requestIndex' | 'message' | 'name'>>({
  customId: ['custom_id'],
  agentId: ['agent_id'],
  attachedFileUuids: ['files', []],
  externalUserId: ['external_user_id', null],
  historyId: ['history_id', null],
  next: ['next', null],
  previous: ['previous', null],
});

const manifestEntries = attributesNamed<ManifestEntry>({
  customId: ['id'],
  historyId: ['history', null],
  next: ['next', null],
});

const entryOf = (request: BatchRequest, apart: boolean): Item => ({
  ...entries.itemOf(request),
  ...(!apart && { message: request.message }),
  ...(request.name !== request.customId && { name: request.name }),
});

/** Without `ttl`: the results need the manifest as long as the batch exists. */
function manifestItems(batch: Owner, requests: readonly BatchRequest[]): Item[] {
  const parts: Item[][] = [[]];
  let bytes = 0;
  for (const request of requests) {
    const size = Buffer.byteLength(request.customId) + 40;
    if (bytes + size > manifestBytes) {
      parts.push([]);
      bytes = 0;
    }
    bytes += size;
    parts.at(-1)?.push(manifestEntries.itemOf(request));
  }
  return parts.map((entries, part) => ({
    ...keys.batchManifest(batch.workspaceId, batch.id, part),
    entries,
    parts: parts.length,
  }));
}

export async function readManifest(table: Table, batch: Batch): Promise<ManifestEntry[]> {
  const partAt = (part: number) => table.getNamed(keys.batchManifest(batch.workspaceId, batch.id, part));
  const first = await partAt(0);
  const others = Array.from({ length: (first.parts as number) - 1 }, (_, index) => partAt(index + 1));
  return [first, ...(await Promise.all(others))]
    .flatMap((item) => item.entries as Item[])
    .map(manifestEntries.fieldsOf);
}

export const dynamoRequestEraser = (table: Table): RequestEraser => ({
  erase: eraseRequest(table),
  async *ofUser({ workspaceId, externalUserId }) {
    const batches = { ...keys.userBatch(workspaceId, externalUserId, '', ''), sk: 'BATCH#' };
    for await (const page of table.queryPages(startingWith(batches)))
      yield page.map(({ sk, requests }): RequestsOfUser => {
        const [, createdAt = '', batchId = ''] = (sk as string).split('#');
        return { batchId, createdAt, requestIndexes: requests as number[] };
      });
  },
  forget: ({ workspaceId, id, createdAt }, { externalUserId }) =>
    table.deleteAll([keys.userBatch(workspaceId, externalUserId, createdAt, id)]),
});

/**
 * The message becomes empty instead of missing: a request without a message counts as not stored, and a worker must
 * still end it.
 */
export const eraseRequest =
  (table: Table) =>
  async ({ workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>, requestIndex: number): Promise<void> => {
    const Key = keys.batchRequests(workspaceId, id, Math.floor(requestIndex / requestsPerGroup));
    const entry = `requests[${requestIndex % requestsPerGroup}]`;
    const change = (expression: string, field: string, condition = `attribute_exists(${entry}.#field)`) => ({
      Key,
      UpdateExpression: expression,
      ConditionExpression: condition,
      ExpressionAttributeNames: { '#field': field },
    });
    const empty = { ExpressionAttributeValues: { ':empty': '' } };
    const updates = [
      change(`REMOVE ${entry}.#field`, 'name'),
      { ...change(`SET ${entry}.#field = :empty`, 'message'), ...empty },
      {
        ...change('SET #field = :empty', 'message', 'attribute_exists(pk)'),
        ...empty,
        Key: keys.batchText(workspaceId, id, requestIndex),
      },
      // Last, because the scan of an erasure finds the request by the user.
      change(`REMOVE ${entry}.#field`, 'external_user_id'),
    ];
    for (const update of updates) await table.updateIf(update);
  };

export async function readRequest(
  table: Table,
  batch: Batch,
  requestIndex: number,
): Promise<BatchRequest | undefined> {
  const group = Math.floor(requestIndex / requestsPerGroup);
  const item = await table.get(keys.batchRequests(batch.workspaceId, batch.id, group));
  const entry = (item?.requests as Item[] | undefined)?.[requestIndex % requestsPerGroup];
  if (entry === undefined) return undefined;
  const text =
    entry.message ?? (await table.get(keys.batchText(batch.workspaceId, batch.id, requestIndex)))?.message;
  if (text === undefined) return undefined;
  const name = (entry.name ?? entry.custom_id) as string;
  return { requestIndex, message: text as string, name, ...entries.fieldsOf(entry) };
}
