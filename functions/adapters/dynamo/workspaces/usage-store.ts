import { randomUUID } from 'node:crypto';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import {
  type DayOfUsage,
  type ModelUsage,
  noModelUsage,
  type UsageCounts,
  usageByModel,
} from '#domain/workspaces/usage.ts';
import type { UsageStore } from '#domain/workspaces/usage-store.ts';

const attributes: Readonly<Record<keyof UsageCounts, string>> = {
  turns: 'turns',
  failedTurns: 'failed_turns',
  batchRequests: 'batch_requests',
  failedBatchRequests: 'failed_batch_requests',
  uploads: 'uploads',
  uploadedBytes: 'uploaded_bytes',
  tests: 'tests',
  failedTests: 'failed_tests',
};

/** Prefixes of the attributes of a model. Short, because an item above 1 KB costs two write units a turn. */
const modelPrefixes: Readonly<Record<keyof ModelUsage, string>> = {
  calls: 'c#',
  promptTokens: 'p#',
  completionTokens: 'o#',
};

const secondsPerDay = 86_400;

/** @param retentionDays days until an item expires, from the end of its day */
export function dynamoUsageStore(table: Table, retentionDays: () => number): UsageStore {
  return {
    async add({ workspaceId, apiKeyId, agentId, counts, calls }, day) {
      const amounts = [
        ...Object.entries(counts).map(([name, amount]) => [attributes[name as keyof UsageCounts], amount]),
        ...Object.entries(usageByModel(calls)).flatMap(([model, used]) =>
          Object.entries(used).map(([name, amount]) => [
            modelPrefixes[name as keyof ModelUsage] + model,
            amount,
          ]),
        ),
      ].filter(([, amount]) => amount !== 0) as [string, number][];
      if (amounts.length === 0) return;
      const expires = Date.parse(day) / 1000 + (retentionDays() + 1) * secondsPerDay;
      try {
        await table.update({
          Key: keys.usage(workspaceId, day, apiKeyId, agentId),
          UpdateExpression: `SET #last = :last, #ttl = :ttl ADD ${amounts.map((_, index) => `#n${index} :v${index}`).join(', ')}`,
          // `last` identifies the last write: the condition rejects the SDK's retry of a write whose response was lost.
          ConditionExpression: 'attribute_not_exists(#last) OR #last <> :last',
          ExpressionAttributeNames: {
            '#last': 'last',
            '#ttl': 'ttl',
            ...Object.fromEntries(amounts.map(([name], index) => [`#n${index}`, name])),
          },
          ExpressionAttributeValues: {
            ':last': randomUUID(),
            ':ttl': expires,
            ...Object.fromEntries(amounts.map(([, amount], index) => [`:v${index}`, amount])),
          },
        });
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
      }
    },

    async *between(workspaceId, from, to) {
      const pages = table.queryPages({
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
        ExpressionAttributeValues: {
          ':pk': keys.usage(workspaceId, '', '', null).pk,
          ':from': from,
          // `$` sorts after `#`, so after every key of that day.
          ':to': `${to}$`,
        },
      });
      for await (const page of pages) yield page.map((item) => dayOfUsage(workspaceId, item));
    },
  };
}

function dayOfUsage(workspaceId: string, item: Item): DayOfUsage {
  const [day = '', apiKeyId = '', agentId = ''] = (item.sk as string).split('#');
  const models: Record<string, ModelUsage> = {};
  for (const [field, prefix] of Object.entries(modelPrefixes))
    for (const name of Object.keys(item).filter((candidate) => candidate.startsWith(prefix))) {
      const model = name.slice(prefix.length);
      models[model] = { ...(models[model] ?? noModelUsage), [field]: item[name] as number };
    }
  const counts = Object.fromEntries(
    Object.entries(attributes).map(([field, name]) => [field, (item[name] as number | undefined) ?? 0]),
  ) as unknown as UsageCounts;
  return { workspaceId, day, apiKeyId, agentId: agentId === '' ? null : agentId, counts, models };
}
