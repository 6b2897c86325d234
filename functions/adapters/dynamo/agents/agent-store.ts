import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import {
  attributesOf,
  fieldsOf,
  getAs,
  type Item,
  ifStill,
  keyOf,
  startingWith,
  type Table,
  type Write,
  where,
} from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Audit } from '#adapters/dynamo/workspaces/api-key-store.ts';
import { objectCache } from '#adapters/s3-objects.ts';
import { ServiceError } from '#contract/errors.ts';
import type { Agent, AgentReader, AgentStore, AgentVersion } from '#domain/agents/agent.ts';
import { groupsOf } from '#domain/platform/services.ts';
import { type AuditEntry, changesOf } from '#domain/workspaces/audit.ts';

const agentOf = (item: Item): Agent => fieldsOf(item);

const versionOf = (item: Item): AgentVersion => fieldsOf(item);

const cachedBytes = 16 * 1024 * 1024;

/** At 350 KB each, they fit into one batch read, which returns at most 16 MB. */
const versionsPerRead = 25;

export function dynamoAgentReader(table: Table): AgentReader {
  // Versions never change, so a cached one needs no read.
  const versions = objectCache<AgentVersion>(cachedBytes);
  return {
    get: (workspaceId, agentId) => getAs(table, keys.agent(workspaceId, agentId), agentOf),
    async published(workspaceId, agentId) {
      const entry = await table.get(keys.publishedEntry(workspaceId, agentId));
      if (entry === undefined) return undefined;
      const { version_id: versionId, version_number: number, version_bytes: bytes } = entry;
      if (versionId === undefined) return getAs(table, keys.publishedAgent(workspaceId, agentId), versionOf);
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
      for await (const page of table.queryPages(startingWith(keys.publishedEntry(workspaceId, ''))))
        for (const entries of groupsOf(page, versionsPerRead)) {
          const items = await Promise.all(
            entries.map((entry) => table.get(keys.publishedAgent(workspaceId, entry.agent_id as string))),
          );
          // An agent may have been unpublished after its entry was read.
          yield items.filter((item) => item !== undefined).map(versionOf);
        }
    },
    async workspaceOf(agentId) {
      return (await table.get(keys.operatorsAgent(agentId)))?.workspace_id as string | undefined;
    },
  };
}

const itemOf = (agent: Agent): Item => ({
  ...keys.agent(agent.workspaceId, agent.id),
  ...attributesOf(agent),
});

export const dynamoAgentStore = (table: Table, audit: Audit): AgentStore => ({
  ...dynamoAgentReader(table),
  async list(workspaceId) {
    const items = await table.queryAll(startingWith(keys.agent(workspaceId, '')));
    return items.map(agentOf).sort((one, other) => one.createdAt.localeCompare(other.createdAt));
  },
  async create(agent) {
    await table.transact([
      { Put: { Item: itemOf(agent) } },
      { Put: { Item: { ...keys.operatorsAgent(agent.id), workspace_id: agent.workspaceId } } },
      ...audit('agent created', agent.workspaceId, agent.id, {
        name: agent.definition.name,
        llm_model: agent.definition.llm_model,
      }),
    ]);
  },
  async save(agent, published) {
    const before = await getAs(table, keys.agent(agent.workspaceId, agent.id), agentOf);
    const change = describe(agent, published, before);
    const isSaved = await transactIfFirst(table, () => [
      ...saveWrites(agent, published),
      ...audit(change.action, agent.workspaceId, agent.id, change.changes),
    ]);
    if (!isSaved) throw changedMeanwhile('saved');
  },
  version: (workspaceId, agentId, number) =>
    getAs(table, keys.agentVersion(workspaceId, agentId, number), versionOf),
  async *versions(workspaceId, agentId) {
    for await (const page of versionPages(table, workspaceId, agentId)) yield page.map(versionOf);
  },
  async delete(workspaceId, agentId, agent) {
    if (agent !== undefined && !(await transactIfFirst(table, () => deletion(audit, agent))))
      throw changedMeanwhile('deleted');
    for await (const page of versionPages(table, workspaceId, agentId))
      await table.deleteAll(page.map(keyOf));
    // Last, because a repeated call finds the agent's workspace by it.
    await table.deleteAll([keys.operatorsAgent(agentId)]);
  },
});

const changedMeanwhile = (done: string) =>
  new ServiceError('badRequest', `The agent was changed by someone else meanwhile; nothing was ${done}`);

/** Nothing in the partition sorts after the versions. */
const versionPages = (table: Table, workspaceId: string, agentId: string): AsyncGenerator<Item[]> =>
  table.queryPages(where('sk > :sk', keys.agentVersion(workspaceId, agentId, 0)));

/** Without the versions, which may be more than a transaction can have. */
const deletion = (audit: Audit, { workspaceId, id, revision, definition }: Agent): Write[] => [
  {
    Delete: {
      Key: keys.agent(workspaceId, id),
      ...ifStill({ revision }),
    },
  },
  ...publishedKeys(workspaceId, id).map((Key) => ({ Delete: { Key } })),
  ...audit('agent deleted', workspaceId, id, { name: definition.name }),
];

const publishedKeys = (workspaceId: string, agentId: string): [published: Key, entry: Key] => [
  keys.publishedAgent(workspaceId, agentId),
  keys.publishedEntry(workspaceId, agentId),
];

function describe(
  { definition }: Agent,
  published: AgentVersion | 'unchanged' | null,
  before: Agent | undefined,
): Pick<AuditEntry, 'action' | 'changes'> {
  if (published === null) return { action: 'agent unpublished', changes: {} };
  if (published !== 'unchanged')
    return {
      action: 'agent published',
      changes: {
        ...{ version: published.number, version_id: published.id },
        ...(published.copyOf !== undefined && { copy_of: published.copyOf }),
      },
    };
  const former = before?.definition ?? {};
  const changed = changesOf(former, definition);
  const removed = Object.keys(former).filter((name) => !Object.hasOwn(definition, name));
  return {
    action: 'agent updated',
    changes: {
      fields: [...Object.keys(changed), ...removed].toSorted(),
      ...(changed.name !== undefined && { name: changed.name }),
      ...(changed.llm_model !== undefined && { llm_model: changed.llm_model }),
    },
  };
}

const entryOf = (version: AgentVersion): Item => ({
  agent_id: version.agentId,
  version_id: version.id,
  version_number: version.number,
  version_bytes: Buffer.byteLength(JSON.stringify(version.definition)),
});

function saveWrites(agent: Agent, published: AgentVersion | 'unchanged' | null): Write[] {
  const [publishedKey, entryKey] = publishedKeys(agent.workspaceId, agent.id);
  const draft: Write = {
    Put: {
      Item: itemOf({ ...agent, revision: agent.revision + 1 }),
      ...ifStill({ revision: agent.revision }),
    },
  };
  if (published === 'unchanged') return [draft];
  if (published === null) return [draft, ...[publishedKey, entryKey].map((Key) => ({ Delete: { Key } }))];
  const item = attributesOf(published);
  const versionKey = keys.agentVersion(agent.workspaceId, agent.id, published.number);
  return [
    draft,
    { Put: { Item: { ...publishedKey, ...item } } },
    { Put: { Item: { ...entryKey, ...entryOf(published) } } },
    { Put: { Item: { ...versionKey, ...item } } },
  ];
}
