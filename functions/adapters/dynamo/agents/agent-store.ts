import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Audit } from '#adapters/dynamo/workspaces/audit-log.ts';
import { ServiceError } from '#contract/errors.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import type { AgentStore } from '#domain/agents/agent-store.ts';
import { type AuditEntry, changesOf } from '#domain/workspaces/audit.ts';
import { agentOf, agentPages, dynamoAgentReader, versionOf } from './agent-reader.ts';

const itemOf = (agent: Agent): Item => ({
  ...keys.agent(agent.workspaceId, agent.id),
  id: agent.id,
  workspace_id: agent.workspaceId,
  publish_state: agent.publishState,
  definition: agent.definition,
  newest_version: agent.newestVersion,
  published_version_id: agent.publishedVersionId,
  published_at: agent.publishedAt,
  created_at: agent.createdAt,
  updated_at: agent.updatedAt,
  revision: agent.revision,
});

const versionItemOf = (version: AgentVersion): Item => ({
  id: version.id,
  agent_id: version.agentId,
  workspace_id: version.workspaceId,
  number: version.number,
  definition: version.definition,
  published_at: version.publishedAt,
  agent_created_at: version.agentCreatedAt,
  copy_of: version.copyOf,
});

export function dynamoAgentStore(table: Table, audit: Audit): AgentStore {
  return {
    ...dynamoAgentReader(table),
    async list(workspaceId) {
      const agents: Agent[] = [];
      for await (const page of agentPages(table, keys.agent(workspaceId, '')))
        agents.push(...page.map(agentOf));
      return agents.sort((one, other) => one.createdAt.localeCompare(other.createdAt));
    },
    async create(agent) {
      await table.transact((TableName) => [
        { Put: { TableName, Item: itemOf(agent) } },
        {
          Put: {
            TableName,
            Item: { ...keys.operatorsAgent(agent.id), workspace_id: agent.workspaceId },
          },
        },
        ...audit(TableName, {
          ...{ action: 'agent created', workspaceId: agent.workspaceId, target: agent.id },
          changes: { name: agent.definition.name, llm_model: agent.definition.llm_model },
        }),
      ]);
    },
    async save(agent, published) {
      const before = await table.get(keys.agent(agent.workspaceId, agent.id));
      const change = describe(agent, published, before && agentOf(before));
      const isSaved = await transactIfFirst(table, async () => (TableName) => [
        ...saveWrites(TableName, agent, published),
        ...audit(TableName, { ...change, workspaceId: agent.workspaceId, target: agent.id }),
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
      if (agent !== undefined && !(await transactIfFirst(table, async () => deletion(audit, agent))))
        throw changedMeanwhile('deleted');
      for await (const page of versionPages(table, workspaceId, agentId))
        await table.deleteAll(page.map(({ pk, sk }): Key => ({ pk: pk as string, sk: sk as string })));
      // Last, because a further call finds the versions by it.
      await table.deleteAll([keys.operatorsAgent(agentId)]);
    },
  };
}

const changedMeanwhile = (done: string) =>
  new ServiceError('badRequest', `The agent was changed by someone else meanwhile; nothing was ${done}`);

function versionPages(table: Table, workspaceId: string, agentId: string): AsyncGenerator<Item[]> {
  const { pk, sk } = keys.agentVersion(workspaceId, agentId, 0);
  return table.queryPages({
    // Nothing else of the partition sorts after a version.
    KeyConditionExpression: 'pk = :pk AND sk > :sk',
    ExpressionAttributeValues: { ':pk': pk, ':sk': sk },
  });
}

/** Without the versions: there may be more than a transaction can have. */
const deletion =
  (audit: Audit, { workspaceId, id, revision, definition }: Agent) =>
  (TableName: string): Write[] => [
    {
      Delete: {
        TableName,
        Key: keys.agent(workspaceId, id),
        ConditionExpression: 'revision = :revision',
        ExpressionAttributeValues: { ':revision': revision },
      },
    },
    ...publishedKeys(workspaceId, id).map((Key) => ({ Delete: { TableName, Key } })),
    ...audit(TableName, {
      ...{ action: 'agent deleted', workspaceId, target: id },
      changes: { name: definition.name },
    }),
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

function saveWrites(TableName: string, agent: Agent, published: AgentVersion | 'unchanged' | null): Write[] {
  const [publishedKey, entryKey] = publishedKeys(agent.workspaceId, agent.id);
  const draft: Write = {
    Put: {
      TableName,
      Item: itemOf({ ...agent, revision: agent.revision + 1 }),
      ConditionExpression: 'revision = :revision',
      ExpressionAttributeValues: { ':revision': agent.revision },
    },
  };
  if (published === 'unchanged') return [draft];
  if (published === null)
    return [draft, ...[publishedKey, entryKey].map((Key) => ({ Delete: { TableName, Key } }))];
  const item = versionItemOf(published);
  const versionKey = keys.agentVersion(agent.workspaceId, agent.id, published.number);
  return [
    draft,
    { Put: { TableName, Item: { ...publishedKey, ...item } } },
    { Put: { TableName, Item: { ...entryKey, ...entryOf(published) } } },
    { Put: { TableName, Item: { ...versionKey, ...item } } },
  ];
}
