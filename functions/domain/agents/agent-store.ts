import type { Agent, AgentVersion } from './agent.ts';

/** What functions read of agents. */
export interface AgentReader {
  get(workspaceId: string, agentId: string): Promise<Agent | undefined>;
  /** The version that serves replies; undefined if the agent is not published. */
  published(workspaceId: string, agentId: string): Promise<AgentVersion | undefined>;
  /** In order of creation, in pages. */
  listPublished(workspaceId: string): AsyncIterable<AgentVersion[]>;
  /** The workspace of an agent, published or not. Undefined if there is no such agent. */
  workspaceOf(agentId: string): Promise<string | undefined>;
}

/** For operators, who make the changes. */
export interface AgentStore extends AgentReader {
  /** In order of creation. */
  list(workspaceId: string): Promise<Agent[]>;
  create(agent: Agent): Promise<void>;
  /**
   * Stores a changed agent.
   * @param published the new published version; null unpublishes the agent
   * @throws badRequest if another caller saved the agent after it was read
   */
  save(agent: Agent, published: AgentVersion | 'unchanged' | null): Promise<void>;
  version(workspaceId: string, agentId: string, number: number): Promise<AgentVersion | undefined>;
  /** All versions, the oldest first, in pages. */
  versions(workspaceId: string, agentId: string): AsyncIterable<AgentVersion[]>;
  /**
   * Deletes an agent with its versions. If it was stopped, a further call goes on.
   * @param agent as it was read; undefined if an earlier call has deleted it, and was stopped before it deleted the versions
   * @throws badRequest if another caller saved the agent after it was read
   */
  delete(workspaceId: string, agentId: string, agent: Agent | undefined): Promise<void>;
}
