import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import { objectCache } from '#adapters/object-cache.ts';
import type { AgentDefinition } from '#contract/agent.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import type { AgentReader } from '#domain/agents/agent-store.ts';

export const agentOf = (item: Item): Agent => ({
  id: item.id as string,
  workspaceId: item.workspace_id as string,
  publishState: item.publish_state as Agent['publishState'],
  definition: item.definition as AgentDefinition,
  newestVersion: item.newest_version as number,
  publishedVersionId: item.published_version_id as string | null,
  publishedAt: item.published_at as string | null,
  createdAt: item.created_at as string,
  updatedAt: item.updated_at as string,
  revision: item.revision as number,
});

export const versionOf = (item: Item): AgentVersion => ({
  id: item.id as string,
  agentId: item.agent_id as string,
  workspaceId: item.workspace_id as string,
  number: item.number as number,
  definition: item.definition as AgentDefinition,
  publishedAt: item.published_at as string,
  agentCreatedAt: item.agent_created_at as string,
  ...(item.copy_of !== undefined && { copyOf: item.copy_of as number }),
});

/** 45 of the largest versions. As objects they take about twice the memory. */
const cachedBytes = 16 * 1024 * 1024;

/** A version has up to 350 KB: 25 are 9 MB, below the limit of 16 MB for one batch read. */
const versionsPerRead = 25;

/** The items of the workspace's agents whose sort keys begin with that of `key`, in pages. */
export const agentPages = (table: Table, key: Key): AsyncGenerator<Item[]> =>
  table.queryPages({
    KeyConditionExpression: 'pk = :pk AND begins_with(sk, :kind)',
    ExpressionAttributeValues: { ':pk': key.pk, ':kind': key.sk },
  });

export function dynamoAgentReader(table: Table): AgentReader {
  // Versions never change. Each process reads a version once, and then only the index entry that names it.
  const versions = objectCache<AgentVersion>(cachedBytes);
  return {
    async get(workspaceId, agentId) {
      const item = await table.get(keys.agent(workspaceId, agentId));
      return item && agentOf(item);
    },
    async published(workspaceId, agentId) {
      const entry = await table.get(keys.publishedEntry(workspaceId, agentId));
      if (entry === undefined) return undefined;
      const { version_id: versionId, version_number: number, version_bytes: bytes } = entry;
      if (versionId === undefined) {
        const item = await table.get(keys.publishedAgent(workspaceId, agentId));
        return item && versionOf(item);
      }
      try {
        const version = await versions.get(versionId as string, bytes as number, async () =>
          versionOf(await table.getNamed(keys.agentVersion(workspaceId, agentId, number as number))),
        );
        return structuredClone(version);
      } catch (error) {
        // The agent may have been deleted after its entry was read.
        if ((await table.get(keys.publishedEntry(workspaceId, agentId))) === undefined) return undefined;
        throw error;
      }
    },
    async *listPublished(workspaceId) {
      // A page has up to 1,000 index entries. The versions are read in smaller groups, because each may have 350 KB.
      for await (const page of agentPages(table, keys.publishedEntry(workspaceId, '')))
        for (let first = 0; first < page.length; first += versionsPerRead) {
          const entries = page.slice(first, first + versionsPerRead);
          const items = await Promise.all(
            entries.map((entry) => table.get(keys.publishedAgent(workspaceId, entry.agent_id as string))),
          );
          // Leaves out an agent that was unpublished after its index entry was read.
          yield items.filter((item) => item !== undefined).map(versionOf);
        }
    },
    async workspaceOf(agentId) {
      return (await table.get(keys.operatorsAgent(agentId)))?.workspace_id as string | undefined;
    },
  };
}
