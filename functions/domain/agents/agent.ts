import { type AgentDefinition, type AgentResource, publicTool } from '#contract/agent.ts';

/** `definition` is the draft. Clients see it only after it is published. */
export interface Agent {
  id: string;
  workspaceId: string;
  publishState: 'draft' | 'published' | 'unpublished';
  definition: AgentDefinition;
  /** 0 if no version was ever published. An unpublish does not change it. */
  newestVersion: number;
  publishedVersionId: string | null;
  publishedAt: string | null;
  createdAt: string;
  updatedAt: string;
  /** Rises in the store with every save. Of several saves of the same revision, only one succeeds. */
  revision: number;
}

/** A stored version never changes. */
export interface AgentVersion {
  id: string;
  agentId: string;
  workspaceId: string;
  number: number;
  definition: AgentDefinition;
  publishedAt: string;
  agentCreatedAt: string;
  /** After a rollback: the number of the version that has the same content. */
  copyOf?: number;
}

/**
 * For an agent whose `meta` has no limit. It is sent, because a provider's own default might cut replies at an unknown
 * length.
 */
export const defaultMaxOutputTokens = 8192;

/** With the published version's content, also if the draft has changed since. */
export const publishedAgentResource = (version: AgentVersion): AgentResource => ({
  id: version.agentId,
  workspace_id: version.workspaceId,
  publish_state: 'published',
  ...version.definition,
  unified_tools: version.definition.unified_tools.map(publicTool),
  version_number: version.number,
  published_version_id: version.id,
  published_at: version.publishedAt,
  created_at: version.agentCreatedAt,
  updated_at: version.publishedAt,
});

export const agentResource = (agent: Agent): AgentResource => ({
  id: agent.id,
  workspace_id: agent.workspaceId,
  publish_state: agent.publishState,
  ...agent.definition,
  version_number: agent.newestVersion === 0 ? null : agent.newestVersion,
  published_version_id: agent.publishedVersionId,
  published_at: agent.publishedAt,
  created_at: agent.createdAt,
  updated_at: agent.updatedAt,
});

export interface AgentReader {
  get(workspaceId: string, agentId: string): Promise<Agent | undefined>;
  /** Undefined if the agent is not published, or the workspace has no such agent. */
  published(workspaceId: string, agentId: string): Promise<AgentVersion | undefined>;
  listPublished(workspaceId: string): AsyncIterable<AgentVersion[]>;
  workspaceOf(agentId: string): Promise<string | undefined>;
}

export interface AgentStore extends AgentReader {
  list(workspaceId: string): Promise<Agent[]>;
  create(agent: Agent): Promise<void>;
  /**
   * @param published the new published version; null unpublishes the agent
   * @throws badRequest if another caller changed the agent after it was read
   */
  save(agent: Agent, published: AgentVersion | 'unchanged' | null): Promise<void>;
  version(workspaceId: string, agentId: string, number: number): Promise<AgentVersion | undefined>;
  versions(workspaceId: string, agentId: string): AsyncIterable<AgentVersion[]>;
  /**
   * With its versions. A repeated call continues after one that was interrupted.
   * @param agent as it was read; undefined if an interrupted call has deleted the agent itself
   * @throws badRequest if another caller changed the agent after it was read
   */
  delete(workspaceId: string, agentId: string, agent: Agent | undefined): Promise<void>;
}
