import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { between, fieldsOf, type Item, ifStill, type Table } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import { inSnakeCase, sumOf } from '#domain/platform/services.ts';
import { changesOf } from '#domain/workspaces/audit.ts';
import {
  type DayOfUsage,
  inDollars,
  type ModelUsage,
  noCounts,
  noModelUsage,
  type PriceStore,
  type Prices,
  type UsageCounts,
  type UsageStore,
  type Use,
} from '#domain/workspaces/usage.ts';
import type { Audit } from './api-key-store.ts';

/** They are short, because an item above 1 KB costs a second write unit. */
const modelPrefixes: Readonly<Record<keyof ModelUsage, string>> = {
  calls: 'c#',
  promptTokens: 'p#',
  completionTokens: 'o#',
  cachedTokens: 'r#',
  writtenTokens: 'w#',
};

const secondsPerDay = 86_400;

const mostTotals = 1000;

/**
 * Each process writes its own items, and each write contains the item's whole total, so that a repeated or late write
 * adds nothing.
 * @param retentionDays from the end of an item's day
 */
export function dynamoUsageStore(
  table: Table,
  retentionDays: () => number,
  newProcessId: () => string = randomUUID,
): UsageStore {
  const totals = new Map<string, { Key: Key; writes: number; amounts: Map<string, number> }>();
  let processId = newProcessId();
  const totalOf = ({ workspaceId, apiKeyId, agentId }: Use, day: string) => {
    if (totals.size >= mostTotals) {
      totals.clear();
      // New items: without its former total, a further write of an item would lose amounts.
      processId = newProcessId();
    }
    const Key = keys.usage(workspaceId, day, apiKeyId, agentId, processId);
    const total = totals.get(Key.pk + Key.sk) ?? { Key, writes: 0, amounts: new Map() };
    totals.set(Key.pk + Key.sk, total);
    return total;
  };
  return {
    async add(use, day) {
      const added = amountsOf(use);
      if (added.length === 0) return;
      const total = totalOf(use, day);
      total.writes += 1;
      for (const [name, amount] of added) total.amounts.set(name, (total.amounts.get(name) ?? 0) + amount);
      const amounts = [...total.amounts];
      const expires = Date.parse(day) / 1000 + (retentionDays() + 1) * secondsPerDay;
      // If the condition fails, this write was already made, or a later one that contains its amounts.
      await table.updateIf({
        Key: total.Key,
        UpdateExpression: `SET #writes = :writes, #ttl = :ttl, ${amounts.map((_, index) => `#n${index} = :v${index}`).join(', ')}`,
        ConditionExpression: 'attribute_not_exists(#writes) OR #writes < :writes',
        ExpressionAttributeNames: {
          ...{ '#writes': 'writes', '#ttl': 'ttl' },
          ...Object.fromEntries(amounts.map(([name], index) => [`#n${index}`, name])),
        },
        ExpressionAttributeValues: {
          ...{ ':writes': total.writes, ':ttl': expires },
          ...Object.fromEntries(amounts.map(([, amount], index) => [`:v${index}`, amount])),
        },
      });
    },

    async *between(workspaceId, from, to) {
      const { pk } = keys.usage(workspaceId, '', '', null, '');
      // `$` sorts after `#`, so after every key of that day.
      for await (const page of table.queryPages(between({ pk, sk: from }, { sk: `${to}$` })))
        yield page.map((item) => dayOfUsage(workspaceId, item));
    },
  };
}

/** A name may occur more than once: a use may have several calls of a model. */
const amountsOf = ({ counts, calls }: Use): [name: string, amount: number][] =>
  [
    ...Object.entries(inSnakeCase<number>(counts)),
    ...calls.flatMap(([model, , promptTokens, completionTokens, cachedTokens = 0, writtenTokens = 0]) => {
      const usage: ModelUsage = { calls: 1, promptTokens, completionTokens, cachedTokens, writtenTokens };
      return Object.entries(modelPrefixes).map(([name, prefix]): [string, number] => [
        prefix + model,
        usage[name as keyof ModelUsage],
      ]);
    }),
  ].filter(([, amount]) => amount !== 0);

function dayOfUsage(workspaceId: string, item: Item): DayOfUsage {
  const [day = '', apiKeyId = '', agentId = ''] = (item.sk as string).split('#');
  const models: Record<string, ModelUsage> = {};
  for (const [field, prefix] of Object.entries(modelPrefixes))
    for (const name of Object.keys(item).filter((candidate) => candidate.startsWith(prefix))) {
      const model = name.slice(prefix.length);
      models[model] = { ...(models[model] ?? noModelUsage), [field]: item[name] as number };
    }
  const counts = sumOf(noCounts, fieldsOf<Partial<UsageCounts>>(item));
  return { workspaceId, day, apiKeyId, agentId: agentId === '' ? null : agentId, counts, models };
}

/**
 * Names for external users in the audit log, which outlives their data. Without the workspace's random key, nobody can
 * guess users and compare their hashes.
 */
export async function hashUsers(
  table: Table,
  workspaceId: string,
  externalUserIds: readonly string[],
): Promise<string[]> {
  const key = await auditKeyOf(table, workspaceId);
  return externalUserIds.map(
    (user) => `user_${createHmac('sha256', key).update(user).digest('hex').slice(0, 32)}`,
  );
}

async function auditKeyOf(table: Table, workspaceId: string): Promise<string> {
  const Key = keys.auditKey(workspaceId);
  const stored = (await table.get(Key))?.key as string | undefined;
  if (stored !== undefined) return stored;
  const key = randomBytes(32).toString('base64');
  const put = { Item: { ...Key, key }, ConditionExpression: 'attribute_not_exists(pk)' };
  return (await table.putIf(put)).isDone ? key : auditKeyOf(table, workspaceId);
}

/** Enough, because operators seldom change prices at the same time. */
const maxAttempts = 20;

/** All prices are in one item, which has space for thousands in its 400 KB. */
export function dynamoPriceStore(table: Table, audit: Audit): PriceStore {
  const read = async () => {
    const { revision, models = {} } = (await table.get(keys.operatorsPrices())) ?? {};
    return { revision: revision as number | undefined, models: models as Prices };
  };
  return {
    all: async () => (await read()).models,
    set: (model, from, price) =>
      transactWithRetry(table, {
        attempts: maxAttempts,
        async plan() {
          const { revision, models } = await read();
          const { [from]: before, ...others } = models[model] ?? {};
          const changed = { ...models, [model]: { ...others, [from]: price } };
          const Item = { ...keys.operatorsPrices(), revision: (revision ?? 0) + 1, models: changed };
          const changes = changesOf({ [from]: before && inDollars(before) }, { [from]: inDollars(price) });
          const put = { Put: { Item, ...ifStill({ revision }) } };
          return { writes: [put, ...audit('prices changed', null, model, changes)], result: undefined };
        },
      }),
  };
}
