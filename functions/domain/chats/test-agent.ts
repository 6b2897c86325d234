import type { AgentTest, AgentTestRequest } from '#contract/agent.ts';
import { agentVersionNotFound, ServiceError } from '#contract/errors.ts';
import { limits } from '#contract/limits.ts';
import { furtherTokens } from '#contract/rate-limits.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import { findAgent } from '#domain/agents/agents.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import { operatorsKeyId } from '#domain/workspaces/usage.ts';
import { limitsOf, type Workspace } from '#domain/workspaces/workspace.ts';
import type { Chat } from './chat.ts';
import { startReply } from './collect-reply.ts';
import { replyMeta } from './history.ts';
import type { Services } from './services.ts';

type TestServices = Services<'agents' | 'rateLimits' | 'stageLimits' | 'usage' | 'workspaces'> &
  Parameters<typeof startReply>[0];

/**
 * All tests of a workspace share the rate limits and the usage of one key, `operatorsKeyId`.
 * @returns `provider`: message of the model's failure for operators; otherwise null
 * @throws `Agent not found`, accessDenied if the workspace is disabled or deleted, `Agent version not found`,
 *   rateLimited
 */
export async function testAgent(services: TestServices, request: AgentTestRequest): Promise<AgentTest> {
  const { agent, workspace, version } = await findTested(services, request);
  const own = limitsOf(workspace, services.stageLimits);
  const owner = own && { workspaceId: workspace.id, apiKeyId: operatorsKeyId, limits: own };
  const taken = owner && (await services.rateLimits.take(owner, { sends: 1, ...furtherTokens.sends }));
  if (taken?.rejection) throw taken.rejection;
  const startedAt = services.clock.now();
  const running = startReply(
    services,
    { agent: version, chat: newChat(agent), history: [], message: request.message, attachments: [] },
    limits.replySeconds * 1000,
  );
  const { reply, error } = await running.completed;
  if (owner !== null) {
    services.rateLimits.charge(owner, { modelCalls: running.budget.furtherModelCalls });
    await services.rateLimits.writeCharges(owner);
  }
  await countUsage(services, {
    ...{ workspaceId: workspace.id, apiKeyId: operatorsKeyId, agentId: agent.id },
    counts: { tests: 1, failedTests: reply.error === null ? 0 : 1 },
    calls: reply.calls,
  });
  return {
    agent_id: agent.id,
    version: request.version === 'draft' ? null : version.number,
    model: version.definition.llm_model,
    reply: { content: reply.content, meta: replyMeta({ ...reply, tokenUsage: reply.usage }) },
    provider: error instanceof ModelFailure ? error.message : null,
    milliseconds: services.clock.now().getTime() - startedAt.getTime(),
  };
}

async function findTested(
  services: TestServices,
  { agent_id, version }: AgentTestRequest,
): Promise<{ agent: Agent; workspace: Workspace; version: AgentVersion }> {
  const agent = await findAgent(services, agent_id);
  const [workspace, published] = await Promise.all([
    services.workspaces.get(agent.workspaceId),
    version === 'published' ? services.agents.published(agent.workspaceId, agent_id) : undefined,
  ]);
  if (workspace?.enabled !== true) throw new ServiceError('accessDenied', 'The workspace is disabled');
  if (version === 'draft') return { agent, workspace, version: draftOf(agent) };
  if (published === undefined) throw agentVersionNotFound();
  return { agent, workspace, version: published };
}

const draftOf = ({ id, workspaceId, definition, ...agent }: Agent): AgentVersion => ({
  ...{ id, agentId: id, workspaceId, definition },
  number: agent.newestVersion + 1,
  publishedAt: agent.updatedAt,
  agentCreatedAt: agent.createdAt,
});

/** A chat with the id 0, which no stored chat has. Without a chat, the agent would lack the tools that need one. */
const newChat = ({ id: agentId, workspaceId, updatedAt }: Agent): Chat => ({
  ...{ id: 0, workspaceId, agentId, name: '', externalUserId: null },
  ...{ createdAt: updatedAt, updatedAt, messageCount: 0, lease: null },
});
