import type {
  LanguageModelV4,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider';
import type { TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type {
  AgentRuntime,
  ModelCall,
  ReplyEnd,
  ReplyPart,
  ReplyRequest,
} from '#domain/chats/agent-runtime.ts';
import { noUsage, sumOfUsage, unknownUsage } from '#domain/chats/message.ts';
import type { ReplyBudget, ReservedCall, RunningTool } from '#domain/chats/reply-budget.ts';
import type { AttachmentReader } from '#domain/files/attachment-reader.ts';
import { ModelFailure, type ModelFailureKind, modelFailureTexts } from '#domain/platform/model-failure.ts';
import { type Shown, showAttachments } from './attachments.ts';
import { conversationOf } from './conversation.ts';
import { modelFailureOf } from './model-error.ts';
import { type ModelResponse, readModelResponse } from './model-response.ts';
import { findProvider, type ModelProvider } from './models/model-provider.ts';
import { type RetryingModel, retryingModel } from './retrying-model.ts';
import { titleOf } from './title.ts';
import { type AgentTool, ToolFailure, type ToolUse } from './tools/agent-tool.ts';
import { type OfferedTool, offeredTools } from './tools/offered-tools.ts';
import { functionTools, openToolCalls } from './tools/tool-calls.ts';
import { failedUse, useTool } from './tools/use-tool.ts';
import { PreviousMessages, streamWithinContext } from './within-context.ts';

/** Used where an agent's `meta` has no value. */
const defaults = {
  /** Tokens. Always sent: otherwise the provider's own default cuts replies at an unknown length. */
  maxOutputTokens: 8192,
  /** Model calls in one reply: seven rounds of tools and the final text. */
  maxSteps: 8,
} as const;

export interface AgentRuntimeSettings {
  providers: Record<string, ModelProvider>;
  tools: readonly AgentTool[];
  attachments: () => AttachmentReader;
  /** Timeout of one tool use, in milliseconds. */
  toolTimeout: number;
  /** Called before each retry of a model call. */
  onRetry: (model: string, failure: ModelFailureKind) => void;
}

type Emit = (part: ReplyPart) => void;

/** The work of one agent: the reply itself, or a call from another agent's tool. */
interface Task extends Omit<ReplyRequest, 'agent'> {
  /** The chain of calls: the reply's agent first, the agent of this task last. */
  agents: readonly [AgentVersion, ...AgentVersion[]];
  /** The tool use that called this agent; undefined for the reply's own agent. */
  caller: RunningTool | undefined;
}

/** Generates replies with the agent's model and tools. */
export function aiAgentRuntime(settings: AgentRuntimeSettings): AgentRuntime {
  return {
    reply: ({ agent, ...request }, emit) =>
      reply(settings, { ...request, agents: [agent], caller: undefined }, emit),

    async title({ agent, message, budget, signal }) {
      const { provider, name } = findProvider(settings.providers, agent.definition.llm_model);
      if (provider.title !== undefined) return provider.title(message);
      if (!budget.takeModelCall()) return undefined;
      const model = requestModel(settings, agent.definition.llm_model, provider.model(name), budget);
      return titleOf(model, message, signal);
    },
  };
}

const requestModel = (
  settings: AgentRuntimeSettings,
  name: string,
  model: LanguageModelV4,
  budget: ReplyBudget,
): RetryingModel =>
  retryingModel(model, {
    mayRetry: () => budget.takeModelCall(),
    onRetry: (failure) => settings.onRetry(name, failure),
  });

async function reply(settings: AgentRuntimeSettings, task: Task, emit: Emit): Promise<ReplyEnd> {
  const lastCall = task.budget.reserveModelCall();
  if (lastCall === undefined) return cutShortBy(limitTexts.modelCalls(task.budget));
  try {
    return await runLoop(settings, task, lastCall, emit);
  } catch (error) {
    throw modelFailureOf(error);
  } finally {
    lastCall.release();
  }
}

const cutShortBy = (cutShort: string | null): ReplyEnd => ({ cutShort, incomplete: null });

/** Both the model and clients read these texts. */
const limitTexts = {
  bytes: ({ limits }: ReplyBudget) =>
    `The answer was longer than the ${limits.replyBytes} bytes that it may have`,
  modelCalls: ({ limits }: ReplyBudget) =>
    `The reply has reached its limit of ${limits.modelCalls} calls of models`,
  toolUses: ({ limits }: ReplyBudget) =>
    `The reply has reached its limit of ${limits.toolUses} uses of tools: answer with what you have`,
  toolsAtOnce: ({ limits }: ReplyBudget) =>
    `At most ${limits.toolsAtOnce} tools may run at once in a reply: use fewer, or one after the other`,
} as const;

async function runLoop(
  settings: AgentRuntimeSettings,
  task: Task,
  lastCall: ReservedCall,
  emit: Emit,
): Promise<ReplyEnd> {
  const { definition } = task.agents.at(-1) ?? task.agents[0];
  const { meta } = definition;
  const { provider, name } = findProvider(settings.providers, definition.llm_model);
  const { parts: shown, isSearchNeeded } = await shownAttachments(
    settings,
    task,
    meta.vision ?? provider.seesImages(name),
  );
  const offered = offeredTools(
    settings.tools,
    definition,
    isSearchNeeded ? ['consultant_lookup'] : [],
  ).filter(({ tool }) => task.caller === undefined || !tool.searchesChat);
  const maxOutputTokens = meta.max_output_tokens ?? defaults.maxOutputTokens;
  const maxSteps = meta.max_steps ?? defaults.maxSteps;
  const model = requestModel(settings, definition.llm_model, provider.model(name), task.budget);
  const instructions: LanguageModelV4Prompt =
    definition.system_prompt === '' ? [] : [{ role: 'system', content: definition.system_prompt }];
  const previous = new PreviousMessages(task.history);
  const exchange: LanguageModelV4Prompt = [];
  const prompt = (): LanguageModelV4Prompt => [
    ...instructions,
    ...conversationOf(
      previous.messages,
      { content: task.message, attachments: task.attachments },
      { shown, offered },
    ),
    ...exchange,
  ];
  const mayRetryShortened = (): boolean => {
    if (!task.budget.takeModelCall()) return false;
    settings.onRetry(definition.llm_model, 'tooLong');
    return true;
  };
  let replyText = '';
  let replyBytes = 0;
  let handedOver = false;
  let isForcedToRespond = false;
  const isReply = task.agents.length === 1;

  for (let step = 1; ; step += 1) {
    // The last model call, and the call after a form, must return text instead of tool calls.
    const mustRespond = handedOver || isForcedToRespond || step === maxSteps || !task.budget.takeModelCall();
    if (mustRespond) lastCall.take();
    const requestedCalls: LanguageModelV4ToolCall[] = [];
    const calls = openToolCalls(offered, {
      emit,
      async run(tool, input) {
        const running = task.budget.startTool(task.caller);
        if (typeof running === 'string') {
          isForcedToRespond ||= running === 'toolUses';
          return failedUse(limitTexts[running](task.budget));
        }
        handedOver ||= tool.tool.handsOver === true;
        const use = toolUse(settings, { ...task, caller: running }, tool, emit);
        return useTool(tool, input, use, settings.toolTimeout).finally(running.end);
      },
    });
    let isNewStep = true;
    const open = () =>
      model.stream({
        prompt: prompt(),
        maxOutputTokens,
        ...(meta.temperature !== undefined && { temperature: meta.temperature }),
        ...(offered.length > 0 && {
          tools: functionTools(offered),
          toolChoice: { type: mustRespond ? 'none' : 'auto' },
        }),
        abortSignal: task.signal,
      });
    const { content, finishReason } = await collectCall(
      {
        call: { model: definition.llm_model, callType: isReply ? 'chat' : 'consultant_call_agent' },
        emit,
        signal: task.signal,
        open: () => streamWithinContext(previous, open, mayRetryShortened),
      },
      {
        // Two bytes are reserved for the paragraph break.
        text: Math.max(task.budget.limits.replyBytes - replyBytes - (replyText === '' ? 0 : 2), 0),
        other: task.budget.limits.replyBytes,
      },
      {
        text(delta) {
          if (delta === '') return;
          // Text after a reasoning step starts a new paragraph.
          const gap = isNewStep && replyText !== '' && !/\s$/.test(replyText) ? '\n\n' : '';
          isNewStep = false;
          replyText += gap + delta;
          replyBytes += Buffer.byteLength(gap + delta);
          emit({ type: 'text', text: gap + delta });
        },
        toolCall(call) {
          requestedCalls.push(call);
          return mustRespond ? {} : calls.start(call);
        },
      },
    );
    if (finishReason === 'bytes') {
      // The calling agent continues, so this agent's steps must end first. `gatherReply` ends the reply's own open
      // steps.
      if (!isReply) await calls.results();
      return { cutShort: null, incomplete: 'max_output_tokens' };
    }
    if (requestedCalls.length === 0 && isReply && finishReason === 'length')
      return { cutShort: null, incomplete: 'max_output_tokens' };
    if (requestedCalls.length === 0)
      return cutShortBy(reasonCutShort(finishReason, { replyText, handedOver, maxOutputTokens }));
    // The model still calls tools, although this call had to return text.
    if (mustRespond && step === maxSteps && !handedOver)
      return cutShortBy(`The agent reached its limit of ${maxSteps} steps`);
    if (mustRespond)
      return cutShortBy(
        handedOver ? null : limitTexts[isForcedToRespond ? 'toolUses' : 'modelCalls'](task.budget),
      );
    exchange.push({ role: 'assistant', content }, { role: 'tool', content: await calls.results() });
  }
}

/**
 * Reads the stream of one model call and emits its usage. A call that fails before its first output has no usage; after
 * an abort the usage is unknown.
 */
async function collectCall(
  {
    call,
    emit,
    signal,
    open,
  }: {
    call: ModelCall;
    emit: Emit;
    signal: AbortSignal;
    open: () => Promise<AsyncIterable<LanguageModelV4StreamPart>>;
  },
  ...output: [
    bounds: Parameters<typeof readModelResponse>[1],
    listener: Parameters<typeof readModelResponse>[2],
  ]
): Promise<ModelResponse> {
  let usage = noUsage;
  emit({ type: 'call start', call });
  try {
    const stream = await open();
    usage = unknownUsage;
    const response = await readModelResponse(stream, ...output);
    usage = response.usage;
    return response;
  } catch (error) {
    if (signal.aborted) usage = unknownUsage;
    throw error;
  } finally {
    emit({ type: 'call end', call, usage });
  }
}

function shownAttachments(
  settings: AgentRuntimeSettings,
  task: Task,
  seesImages: boolean,
): Promise<Shown> | Shown {
  const files = [
    ...task.history.flatMap((message) => (message.role === 'user' ? message.attachments : [])),
    ...task.attachments,
  ];
  if (files.length === 0) return nothingShown;
  return showAttachments(settings.attachments(), files, { seesImages, signal: task.signal });
}

const nothingShown: Shown = { parts: new Map(), isSearchNeeded: false };

function reasonCutShort(
  finishReason: Exclude<ModelResponse['finishReason'], 'bytes'>,
  reply: { replyText: string; handedOver: boolean; maxOutputTokens: number },
): string | null {
  switch (finishReason) {
    case 'length':
      return `The answer was cut at the limit of ${reply.maxOutputTokens} tokens`;
    case 'content-filter':
      return 'The reply was cut by the content filter of the model';
    case 'error':
    case 'interrupted':
      throw new ModelFailure('failed', `The model ended its reply with the reason ${finishReason}`);
  }
  // A form without text is a valid reply.
  return reply.replyText === '' && !reply.handedOver ? 'The model gave an empty reply' : null;
}

const toolUse = (
  settings: AgentRuntimeSettings,
  task: Task,
  { config }: OfferedTool,
  emit: Emit,
): ToolUse<unknown> => ({
  config,
  chat: task.chat,
  attachments: task.attachments,
  agents: task.agents,
  signal: task.signal,
  callAgent: (agent, message, signal) => callAgent(settings, { ...task, signal, message }, agent, emit),
});

/**
 * Runs another agent inside this reply. Its steps and its usage belong to the reply; its text goes to the calling agent
 * only.
 */
async function callAgent(
  settings: AgentRuntimeSettings,
  task: Task,
  agent: AgentVersion,
  emit: Emit,
): Promise<{ text: string; usage: TokenUsage }> {
  let text = '';
  let usage = noUsage;
  const listen: Emit = (part) => {
    if (part.type === 'text') text += part.text;
    else emit(part);
    if (part.type === 'call end') usage = sumOfUsage(usage, part.usage);
  };
  try {
    const { cutShort, incomplete } = await reply(
      settings,
      { ...task, history: [], attachments: [], agents: [...task.agents, agent] as Task['agents'] },
      listen,
    );
    if (cutShort !== null) throw new ToolFailure(cutShort, { usage });
    if (incomplete !== null) throw new ToolFailure(limitTexts.bytes(task.budget), { usage });
    return { text, usage };
  } catch (error) {
    if (error instanceof ModelFailure)
      throw new ToolFailure(modelFailureTexts[error.kind], { usage, cause: error });
    throw error;
  }
}
