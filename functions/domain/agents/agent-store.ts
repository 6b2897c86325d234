import type { Agent, AgentVersion } from './agent.ts';

export interface AgentStore {
  get(workspaceId: string, agentId: string): Promise<Agent | undefined>;
  /** The version that answers now; undefined when the agent is not published. */
  published(workspaceId: string, agentId: string): Promise<AgentVersion | undefined>;
  /** In order of creation, page by page. */
  listPublished(workspaceId: string): AsyncIterable<AgentVersion[]>;
  list(workspaceId: string): Promise<Agent[]>;
  /** The workspace that an agent belongs to: for operators, who name agents alone. */
  workspaceOf(agentId: string): Promise<string | undefined>;
  create(agent: Agent): Promise<void>;
  /**
   * Stores a changed agent and with it the version that answers from now on (null: none).
   * @throws badRequest when someone else saved the agent since it was read
   */
  save(agent: Agent, published: AgentVersion | 'unchanged' | null): Promise<void>;
}
