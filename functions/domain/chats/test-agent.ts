import type { AgentTest, AgentTestRequest } from '#contract/agent.ts';
import { agentNotFound, agentVersionNotFound, ServiceError } from '#contract/errors.ts';
import { limits } from '#contract/limits.ts';
import { furtherTokens } from '#contract/rate-limits.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { BucketOwner } from '#domain/workspaces/rate-limits.ts';
import { operatorsKeyId } from '#domain/workspaces/usage.ts';
import { limitsOf, type Workspace } from '#domain/workspaces/workspace.ts';
import type { Chat } from './chat.ts';
import { startReply } from './collect-reply.ts';
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
  if (owner !== null) await takeTokens(services, owner);
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
    reply: {
      content: reply.content,
      meta: {
        reasoning_steps: reply.reasoningSteps,
        token_usage: reply.usage,
        ...(reply.error !== null && { error: reply.error }),
        ...(reply.incomplete !== null && { incomplete: reply.incomplete }),
      },
    },
    provider: error instanceof ModelFailure ? error.message : null,
    milliseconds: services.clock.now().getTime() - startedAt.getTime(),
  };
}

async function findTested(
  { agents, workspaces }: TestServices,
  request: AgentTestRequest,
): Promise<{ agent: Agent; workspace: Workspace; version: AgentVersion }> {
  const { agent_id: agentId } = request;
  const workspaceId = await agents.workspaceOf(agentId);
  if (workspaceId === undefined) throw agentNotFound();
  const [agent, workspace, published] = await Promise.all([
    agents.get(workspaceId, agentId),
    workspaces.get(workspaceId),
    request.version === 'published' ? agents.published(workspaceId, agentId) : undefined,
  ]);
  if (agent === undefined) throw agentNotFound();
  if (workspace?.enabled !== true) throw new ServiceError('accessDenied', 'The workspace is disabled');
  if (request.version === 'draft') return { agent, workspace, version: draftOf(agent) };
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

async function takeTokens({ rateLimits }: TestServices, owner: BucketOwner): Promise<void> {
  const { rejection } = await rateLimits.take(owner, { sends: 1, ...furtherTokens.sends });
  if (rejection !== null) throw rejection;
}
