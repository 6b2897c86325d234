import { ServiceError } from '#contract/errors.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import type { AgentStore } from '#domain/agents/agent-store.ts';
import { type AuditEntry, changesOf } from '#domain/workspaces/audit.ts';
import type { MemoryAudit } from './workspace-stores.ts';

export function memoryAgentStore(audit: MemoryAudit): AgentStore {
  const agents = new Map<string, Agent>();
  const published = new Map<string, AgentVersion>();
  const versions = new Map<string, AgentVersion[]>();
  /** In order of creation: ids increase with time. */
  const ofWorkspace = <Owned extends { workspaceId: string }>(
    owned: Map<string, Owned>,
    workspaceId: string,
  ): Owned[] =>
    [...owned]
      .filter(([, one]) => one.workspaceId === workspaceId)
      .sort(([id], [otherId]) => (id < otherId ? -1 : 1))
      .map(([, one]) => structuredClone(one));
  const get = async <Owned extends { workspaceId: string }>(
    owned: Map<string, Owned>,
    workspaceId: string,
    agentId: string,
  ): Promise<Owned | undefined> => {
    const found = owned.get(agentId);
    return found?.workspaceId === workspaceId ? structuredClone(found) : undefined;
  };
  const ofAgent = (workspaceId: string, agentId: string): AgentVersion[] =>
    structuredClone(versions.get(agentId) ?? []).filter((version) => version.workspaceId === workspaceId);
  return {
    get: (workspaceId, agentId) => get(agents, workspaceId, agentId),
    published: (workspaceId, agentId) => get(published, workspaceId, agentId),
    async *listPublished(workspaceId) {
      yield ofWorkspace(published, workspaceId);
    },
    list: async (workspaceId) =>
      ofWorkspace(agents, workspaceId).sort((one, other) => one.createdAt.localeCompare(other.createdAt)),
    workspaceOf: async (agentId) => agents.get(agentId)?.workspaceId,
    async create(agent) {
      agents.set(agent.id, structuredClone(agent));
      const { id: target, workspaceId, definition } = agent;
      const changes = { name: definition.name, llm_model: definition.llm_model };
      audit({ action: 'agent created', workspaceId, target, changes });
    },
    async save(agent, version) {
      const before = agents.get(agent.id);
      if (before?.revision !== agent.revision)
        throw new ServiceError('badRequest', 'The agent was changed after it was read');
      agents.set(agent.id, structuredClone({ ...agent, revision: agent.revision + 1 }));
      if (version === null) published.delete(agent.id);
      else if (version !== 'unchanged') {
        published.set(agent.id, structuredClone(version));
        versions.set(agent.id, [...(versions.get(agent.id) ?? []), structuredClone(version)]);
      }
      audit({ ...describe(before, agent, version), workspaceId: agent.workspaceId, target: agent.id });
    },
    version: async (workspaceId, agentId, number) =>
      ofAgent(workspaceId, agentId).find((version) => version.number === number),
    async *versions(workspaceId, agentId) {
      yield ofAgent(workspaceId, agentId);
    },
    async delete(workspaceId, agentId, agent) {
      if (agent !== undefined && agents.get(agentId)?.revision !== agent.revision)
        throw new ServiceError('badRequest', 'The agent was changed after it was read');
      for (const map of [agents, published, versions]) map.delete(agentId);
      if (agent === undefined) return;
      const changes = { name: agent.definition.name };
      audit({ action: 'agent deleted', workspaceId, target: agentId, changes });
    },
  };
}

function describe(
  before: Agent,
  after: Agent,
  published: AgentVersion | 'unchanged' | null,
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
  const changed = changesOf(before.definition, after.definition);
  const { name, llm_model } = changed;
  return {
    action: 'agent updated',
    changes: {
      fields: Object.keys(changed).toSorted(),
      ...(name !== undefined && { name }),
      ...(llm_model !== undefined && { llm_model }),
    },
  };
}
