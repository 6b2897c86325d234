import type { ChatCompletionRequest } from '#contract/openai/chat-completion-request.ts';
import { modelNotFound } from '#contract/openai/error.ts';
import { type AgentVersion, defaultMaxOutputTokens } from '#domain/agents/agent.ts';
import type { ReplyRequest, Sampling } from '#domain/chats/agent-runtime.ts';
import { type RunningReply, startReply } from '#domain/chats/start-reply.ts';
import { allEnded } from '#domain/platform/all-ended.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import { findWorkspaceFor } from '#domain/workspaces/find-workspace.ts';
import { requireOpenAi } from './check-open-ai.ts';
import { findModel } from './find-model.ts';
import { readConversation, withinWindow } from './read-conversation.ts';
import { rejectParameters } from './reject-parameters.ts';
import type { Services } from './services.ts';
import { systemMessageOf } from './system-message.ts';

export interface RunningCompletion {
  agent: AgentVersion;
  running: RunningReply;
}

/**
 * Starts a reply that belongs to no chat: nothing of it is stored. One round trip, concurrently with the rate limit.
 * @param deadline milliseconds that the model may take from now on
 * @throws clientNotAllowed, OpenAiError (the routes are off, a parameter, a message, an unknown model), rateLimited
 */
export async function startCompletion(
  services: Services<'agents' | 'imageInspector' | 'replySettings' | 'workspaces'> &
    Parameters<typeof startReply>[0],
  workspaceId: string,
  request: ChatCompletionRequest,
  { awaitRateLimit, deadline }: { awaitRateLimit: AwaitRateLimit; deadline: () => number },
): Promise<RunningCompletion> {
  const [, conversation, agent] = await allEnded([
    findWorkspaceFor(services, workspaceId, request.user).then(requireOpenAi),
    checkedConversation(services, request),
    findModel(services, workspaceId, request.model),
  ]);
  if (agent === undefined) throw modelNotFound(request.model);
  await awaitRateLimit();
  const { meta } = agent.definition;
  const window = meta.max_history_characters ?? services.replySettings.historyCharacters;
  const { message, parts } = conversation;
  const reply: Omit<ReplyRequest, 'budget' | 'signal'> = {
    agent: withCaller(agent, request, conversation.instructions),
    chat: null,
    history: withinWindow(conversation.history, window),
    ...{ message, parts, attachments: [], sampling: samplingOf(request) },
  };
  return { agent, running: startReply(services, reply, deadline()) };
}

async function checkedConversation(
  { imageInspector }: Services<'imageInspector'>,
  request: ChatCompletionRequest,
): Promise<Awaited<ReturnType<typeof readConversation>>> {
  rejectParameters(request);
  return readConversation(request.messages, imageInspector);
}

/** The agent with the caller's instructions, within the limits of both. */
function withCaller(
  agent: AgentVersion,
  { max_tokens, max_completion_tokens, temperature }: ChatCompletionRequest,
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
        // Some models reject any temperature. An agent that sets one has a model that takes it.
        ...(meta.temperature !== undefined && temperature !== undefined && { temperature }),
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
