import { keys } from '#adapters/dynamo/table/keys.ts';
import { fieldsOf, type Item, startingWith, type Table } from '#adapters/dynamo/table/table.ts';
import { objectCache } from '#adapters/object-cache.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import type { AgentReader } from '#domain/agents/agent-store.ts';

export const agentOf = (item: Item): Agent => fieldsOf(item);

export const versionOf = (item: Item): AgentVersion => fieldsOf(item);

/** 45 of the largest versions. As objects they take about twice the memory. */
const cachedBytes = 16 * 1024 * 1024;

/** A version has up to 350 KB: 25 are 9 MB, below the limit of 16 MB for one batch read. */
const versionsPerRead = 25;

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
      for await (const page of table.queryPages(startingWith(keys.publishedEntry(workspaceId, ''))))
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
