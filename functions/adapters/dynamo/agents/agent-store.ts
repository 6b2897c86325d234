import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import {
  attributesOf,
  type Item,
  keyOf,
  startingWith,
  type Table,
  type Write,
  where,
} from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Audit } from '#adapters/dynamo/workspaces/audit-log.ts';
import { ServiceError } from '#contract/errors.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import type { AgentStore } from '#domain/agents/agent-store.ts';
import { type AuditEntry, changesOf } from '#domain/workspaces/audit.ts';
import { agentOf, dynamoAgentReader, versionOf } from './agent-reader.ts';

const itemOf = (agent: Agent): Item => ({
  ...keys.agent(agent.workspaceId, agent.id),
  ...attributesOf(agent),
});

export function dynamoAgentStore(table: Table, audit: Audit): AgentStore {
  return {
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
      const before = await table.get(keys.agent(agent.workspaceId, agent.id));
      const change = describe(agent, published, before && agentOf(before));
      const isSaved = await transactIfFirst(table, () => [
        ...saveWrites(agent, published),
        ...audit(change.action, agent.workspaceId, agent.id, change.changes),
      ]);
      if (!isSaved) throw changedMeanwhile('saved');
    },
    async version(workspaceId, agentId, number) {
      const item = await table.get(keys.agentVersion(workspaceId, agentId, number));
      return item && versionOf(item);
    },
    async *versions(workspaceId, agentId) {
      for await (const page of versionPages(table, workspaceId, agentId)) yield page.map(versionOf);
    },
    async delete(workspaceId, agentId, agent) {
      if (agent !== undefined && !(await transactIfFirst(table, () => deletion(audit, agent))))
        throw changedMeanwhile('deleted');
      for await (const page of versionPages(table, workspaceId, agentId))
        await table.deleteAll(page.map(keyOf));
      // Last, because a further call finds the versions by it.
      await table.deleteAll([keys.operatorsAgent(agentId)]);
    },
  };
}

const changedMeanwhile = (done: string) =>
  new ServiceError('badRequest', `The agent was changed by someone else meanwhile; nothing was ${done}`);

/** Nothing else of the partition sorts after a version. */
const versionPages = (table: Table, workspaceId: string, agentId: string): AsyncGenerator<Item[]> =>
  table.queryPages(where('sk > :sk', keys.agentVersion(workspaceId, agentId, 0)));

/** Without the versions: there may be more than a transaction can have. */
const deletion = (audit: Audit, { workspaceId, id, revision, definition }: Agent): Write[] => [
  {
    Delete: {
      Key: keys.agent(workspaceId, id),
      ConditionExpression: 'revision = :revision',
      ExpressionAttributeValues: { ':revision': revision },
    },
  },
  ...publishedKeys(workspaceId, id).map((Key) => ({ Delete: { Key } })),
  ...audit('agent deleted', workspaceId, id, { name: definition.name }),
];

const publishedKeys = (workspaceId: string, agentId: string): [published: Key, entry: Key] => [
  keys.publishedAgent(workspaceId, agentId),
  keys.publishedEntry(workspaceId, agentId),
];

/** The audit entry of a save. It names the changed fields; only for name and model does it contain the values. */
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
  const changed = changesOf(before?.definition ?? {}, definition);
  return {
    action: 'agent updated',
    changes: {
      fields: Object.keys(changed).toSorted(),
      ...(changed.name !== undefined && { name: changed.name }),
      ...(changed.llm_model !== undefined && { llm_model: changed.llm_model }),
    },
  };
}

/** The index entry of a published agent. Those that older code has written have the agent's id alone. */
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
      ConditionExpression: 'revision = :revision',
      ExpressionAttributeValues: { ':revision': agent.revision },
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
