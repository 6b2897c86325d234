import { uuid } from '#contract/fields.ts';
import {
  type ChatCompletionRequest,
  invalidParameter,
  modelNotFound,
  type OpenAiModel,
  openAiDisabled,
} from '#contract/openai.ts';
import { type AgentVersion, defaultMaxOutputTokens } from '#domain/agents/agent.ts';
import type { ReplyRequest, Sampling } from '#domain/chats/agent-runtime.ts';
import { startReply } from '#domain/chats/collect-reply.ts';
import { allEnded } from '#domain/platform/promises.ts';
import type { AwaitRateLimit } from '#domain/workspaces/rate-limits.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { findWorkspaceFor } from '#domain/workspaces/workspaces.ts';
import { forcedTool, formOfCompletion, ownTools, type Services } from './completion.ts';
import { readConversation, systemMessageOf, withinWindow } from './read-conversation.ts';

function requireOpenAi(workspace: Workspace | undefined): void {
  if (workspace?.openAiEnabled !== true) throw openAiDisabled();
}

/** @throws OpenAiError if the OpenAI-compatible routes are off for the workspace: the authorizer does not check this */
export const checkOpenAi = async (services: Services<'workspaces'>, workspaceId: string): Promise<void> =>
  requireOpenAi(await services.workspaces.get(workspaceId));

/** Undefined also for a text that is not an id. */
export async function findModel(
  services: Services<'agents'>,
  workspaceId: string,
  model: string,
): Promise<AgentVersion | undefined> {
  const id = uuid.safeParse(model);
  return id.success ? services.agents.published(workspaceId, id.data) : undefined;
}

/** The `id` is not the agent's name, because some clients behave differently for the models whose names they know. */
export const modelResource = (agent: AgentVersion): OpenAiModel => ({
  id: agent.agentId,
  object: 'model',
  created: Math.floor(Date.parse(agent.agentCreatedAt) / 1000),
  owned_by: agent.workspaceId,
  name: agent.definition.name,
  description: agent.definition.description,
});

const isFilled = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;
const isThere = (value: unknown): boolean => value !== undefined && value !== false;
const isOnlyText = (modalities: unknown): boolean =>
  Array.isArray(modalities) && modalities.every((modality) => modality === 'text');

/** Rejected and not ignored, because the client would not get what it asks for. */
const rejected: readonly [
  param: keyof ChatCompletionRequest,
  isRejected: (value: unknown) => boolean,
  problem: string,
][] = [
  ['functions', isFilled, ownTools],
  ['n', (value) => value !== undefined && value !== 1, 'must be 1: an agent gives one reply'],
  ['logprobs', isThere, 'is not supported: a reply may come from several models and tools'],
  ['top_logprobs', isThere, 'is not supported: a reply may come from several models and tools'],
  ['audio', isThere, 'is not supported: agents reply with text'],
  ['modalities', (value) => value !== undefined && !isOnlyText(value), 'may only contain "text"'],
  ['logit_bias', isFilled, 'is not supported: the tokens of the model behind an agent are not known here'],
  ['web_search_options', isThere, 'is not supported: an agent has a search of its own, or none'],
  ['prediction', isThere, 'is not supported: no model here takes it'],
  ['moderation', isThere, 'is not supported: the reply would not be checked'],
];

function rejectParameters(request: ChatCompletionRequest): void {
  for (const [param, isRejected, problem] of rejected)
    if (isRejected(request[param])) throw invalidParameter(param, problem);
}

/**
 * Starts a reply that belongs to no chat and is not stored.
 * @param deadline returns the milliseconds that the reply may still take
 * @throws accessDenied, clientNotAllowed, OpenAiError (such as for an unknown model or a wrong parameter), rateLimited
 */
export async function startCompletion(
  services: Services<'agents' | 'imageInspector' | 'replySettings' | 'workspaces'> &
    Parameters<typeof startReply>[0],
  workspaceId: string,
  request: ChatCompletionRequest,
  { awaitRateLimit, deadline }: { awaitRateLimit: AwaitRateLimit; deadline: () => number },
) {
  const [, { tool, ...conversation }, agent] = await allEnded([
    findWorkspaceFor(services, workspaceId, request.user).then(requireOpenAi),
    checkedConversation(services, request),
    findModel(services, workspaceId, request.model),
  ]);
  if (agent === undefined) throw modelNotFound(request.model);
  const form = await formOfCompletion(request, tool, agent);
  await awaitRateLimit();
  const { meta } = agent.definition;
  const window = meta.max_history_characters ?? services.replySettings.historyCharacters;
  const { message, parts } = conversation;
  const reply: Omit<ReplyRequest, 'budget' | 'signal'> = {
    agent: withCaller(agent, request, conversation.instructions),
    chat: null,
    history: withinWindow(conversation.history, window),
    ...{ message, parts, attachments: [], sampling: samplingOf(request), form },
  };
  return { agent, tool, running: startReply(services, reply, deadline()) };
}

async function checkedConversation(services: Services<'imageInspector'>, request: ChatCompletionRequest) {
  rejectParameters(request);
  const tool = forcedTool(request);
  return { ...(await readConversation(request.messages, services.imageInspector, tool?.name)), tool };
}

function withCaller(
  agent: AgentVersion,
  { max_tokens, max_completion_tokens, temperature, reasoning_effort }: ChatCompletionRequest,
  instructions: readonly string[],
): AgentVersion {
  const { definition } = agent;
  const { meta } = definition;
  const limits = [meta.max_output_tokens ?? defaultMaxOutputTokens, max_tokens, max_completion_tokens];
  return {
    ...agent,
    definition: {
      ...definition,
      system_prompt: systemMessageOf(definition.system_prompt, instructions),
      meta: {
        ...meta,
        max_output_tokens: Math.min(...limits.filter((limit) => limit !== undefined)),
        // Some models reject any temperature or effort. So the caller's value is used only if the agent sets one too:
        // then its model should accept it.
        ...(meta.temperature !== undefined && temperature !== undefined && { temperature }),
        ...(meta.reasoning_effort !== undefined && reasoning_effort !== undefined && { reasoning_effort }),
      },
    },
  };
}

function samplingOf(request: ChatCompletionRequest): Sampling {
  const { top_p, presence_penalty, frequency_penalty, seed, stop } = request;
  return {
    ...(top_p !== undefined && { topP: top_p }),
    ...(presence_penalty !== undefined && { presencePenalty: presence_penalty }),
    ...(frequency_penalty !== undefined && { frequencyPenalty: frequency_penalty }),
    ...(seed !== undefined && { seed }),
    ...(stop !== undefined && { stopSequences: [stop].flat() }),
  };
}
