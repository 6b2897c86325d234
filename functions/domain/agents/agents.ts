import type { AgentDefinition } from '#contract/agent.ts';
import { agentNotFound, ServiceError } from '#contract/errors.ts';
import type { WorkspaceServices } from '#domain/workspaces/workspace.ts';
import { requireWorkspace } from '#domain/workspaces/workspaces.ts';
import type { Agent, AgentReader, AgentStore, AgentVersion } from './agent.ts';

export interface WebPage {
  /** After redirects. */
  url: string;
  /** Empty if the page has none. */
  title: string;
  text: string;
  /** Without parameters, such as `text/html`. */
  contentType: string;
}

export interface WebPages {
  /**
   * @param hosts in lower case; if given, the only allowed ones, for redirects too. `*.` and a domain stands for each
   *   host below it
   * @throws OutboundFailure with the reason, the signal's reason, or an internal error
   */
  read(
    workspaceId: string,
    url: string,
    hosts: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<WebPage>;
}

export interface WebSearchResult {
  title: string;
  url: string;
  snippet: string;
}

export interface WebSearch {
  /**
   * Best first.
   * @throws OutboundFailure with the reason, the signal's reason, or an internal error
   */
  search(query: string, limit: number, signal: AbortSignal): Promise<WebSearchResult[]>;
}

export interface AgentServices extends WorkspaceServices {
  agents: AgentReader;
  webPages: WebPages;
  /** Null if the stage has no provider of web searches. */
  webSearch: WebSearch | null;
}

export interface AgentEditing {
  agents: AgentStore;
}

type Services<Name extends keyof AgentServices> = Pick<AgentServices, Name>;

/** @throws notFound for an unknown workspace */
export async function createAgent(
  services: AgentEditing & Services<'clock' | 'identifiers' | 'workspaces'>,
  input: { workspaceId: string; definition: AgentDefinition },
): Promise<Agent> {
  await requireWorkspace(services, input.workspaceId);
  const now = services.clock.now().toISOString();
  const agent: Agent = {
    id: services.identifiers.uuid(),
    workspaceId: input.workspaceId,
    publishState: 'draft',
    definition: input.definition,
    newestVersion: 0,
    publishedVersionId: null,
    publishedAt: null,
    createdAt: now,
    updatedAt: now,
    revision: 1,
  };
  await services.agents.create(agent);
  return agent;
}

/**
 * Its chats stay. A repeated call continues after one that was interrupted.
 * @param check throws if the agent must stay. Not called if an interrupted call has deleted the agent itself
 * @throws notFound `Agent not found`; badRequest if another caller changes the agent meanwhile; what `check` throws
 */
export async function deleteAgent(
  { agents }: AgentEditing,
  agentId: string,
  check: (agent: Agent) => void,
): Promise<void> {
  const workspaceId = await agents.workspaceOf(agentId);
  if (workspaceId === undefined) throw agentNotFound();
  const agent = await agents.get(workspaceId, agentId);
  if (agent !== undefined) check(agent);
  await agents.delete(workspaceId, agentId, agent);
}

/** @throws notFound `Agent not found` */
export async function findAgent(services: Services<'agents'>, agentId: string): Promise<Agent> {
  const workspaceId = await services.agents.workspaceOf(agentId);
  const agent = workspaceId === undefined ? undefined : await services.agents.get(workspaceId, agentId);
  if (agent === undefined) throw agentNotFound();
  return agent;
}

/**
 * Replaces the draft, not what clients see.
 * @throws notFound `Agent not found`; badRequest if another caller changes the agent meanwhile
 */
export const updateAgent = (
  services: AgentEditing & Services<'clock'>,
  { agentId, definition }: { agentId: string; definition: AgentDefinition },
): Promise<Agent> => changeAgent(services, agentId, { definition }, 'unchanged');

async function changeAgent(
  services: AgentEditing & Services<'clock'>,
  agentId: string,
  changes: Partial<Agent>,
  published: 'unchanged' | null,
): Promise<Agent> {
  const found = await findAgent(services, agentId);
  const agent = { ...found, ...changes, updatedAt: services.clock.now().toISOString() };
  await services.agents.save(agent, published);
  return agent;
}

/** @throws notFound `Agent not found`; badRequest if another caller changes the agent meanwhile */
export async function publishAgent(
  services: AgentEditing & Services<'clock' | 'identifiers'>,
  agentId: string,
): Promise<AgentVersion> {
  const agent = await findAgent(services, agentId);
  return publish(services, agent, { definition: agent.definition });
}

/**
 * The draft stays as it is.
 * @param check rejects if the version must not be published
 * @throws notFound for an unknown agent or version; badRequest if the version is the published one, or if another
 * caller changes the agent meanwhile
 */
export async function rollBackAgent(
  services: AgentEditing & Services<'clock' | 'identifiers'>,
  agentId: string,
  number: number,
  check: (version: AgentVersion) => Promise<void>,
): Promise<AgentVersion> {
  const agent = await findAgent(services, agentId);
  const version = await services.agents.version(agent.workspaceId, agentId, number);
  if (version === undefined) throw new ServiceError('notFound', `The agent has no version ${number}`);
  if (version.id === agent.publishedVersionId)
    throw new ServiceError('badRequest', `Version ${number} is the published one`);
  await check(version);
  return publish(services, agent, { definition: version.definition, copyOf: number });
}

async function publish(
  { agents, clock, identifiers }: AgentEditing & Services<'clock' | 'identifiers'>,
  agent: Agent,
  content: Pick<AgentVersion, 'definition' | 'copyOf'>,
): Promise<AgentVersion> {
  const now = clock.now().toISOString();
  const version: AgentVersion = {
    id: identifiers.uuid(),
    agentId: agent.id,
    workspaceId: agent.workspaceId,
    number: agent.newestVersion + 1,
    ...content,
    publishedAt: now,
    agentCreatedAt: agent.createdAt,
  };
  const published: Agent = {
    ...agent,
    publishState: 'published',
    newestVersion: version.number,
    publishedVersionId: version.id,
    publishedAt: now,
    updatedAt: now,
  };
  await agents.save(published, version);
  return version;
}

/** @throws notFound `Agent not found`; badRequest if another caller changes the agent meanwhile */
export function unpublishAgent(services: AgentEditing & Services<'clock'>, agentId: string): Promise<Agent> {
  const unpublished = { publishState: 'unpublished', publishedVersionId: null, publishedAt: null } as const;
  return changeAgent(services, agentId, unpublished, null);
}
