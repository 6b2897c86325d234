import type { Agent, AgentVersion } from './agent.ts';

export interface AgentStore {
  get(workspaceId: string, agentId: string): Promise<Agent | undefined>;
  /** The version that serves replies; undefined if the agent is not published. */
  published(workspaceId: string, agentId: string): Promise<AgentVersion | undefined>;
  /** In order of creation, in pages. */
  listPublished(workspaceId: string): AsyncIterable<AgentVersion[]>;
  /** In order of creation. */
  list(workspaceId: string): Promise<Agent[]>;
  /** The workspace of an agent. For operators: they name an agent without its workspace. */
  workspaceOf(agentId: string): Promise<string | undefined>;
  create(agent: Agent): Promise<void>;
  /**
   * Stores a changed agent.
   * @param published the new published version; null unpublishes the agent
   * @throws badRequest if another caller saved the agent after it was read
   */
  save(agent: Agent, published: AgentVersion | 'unchanged' | null): Promise<void>;
}
