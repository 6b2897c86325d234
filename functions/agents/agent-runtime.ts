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

/** Of an agent whose `meta` does not say otherwise. */
const defaults = {
  /** Always set: without it a provider's own default cuts replies at a length that nobody chose. */
  maxOutputTokens: 8192,
  /** Calls of the model in one reply: seven rounds of tools, and the answer. */
  maxSteps: 8,
} as const;

export interface AgentRuntimeSettings {
  providers: Record<string, ModelProvider>;
  tools: readonly AgentTool[];
  attachments: () => AttachmentReader;
  /** Milliseconds that one use of a tool may take. */
  toolTimeout: number;
  /** Told when a model is asked again. */
  onRetry: (model: string, failure: ModelFailureKind) => void;
}

type Emit = (part: ReplyPart) => void;

/** A reply on its way, or a part of one that another agent makes. */
interface Task extends Omit<ReplyRequest, 'agent'> {
  /** Who asked whom, the one that answers last. */
  agents: readonly [AgentVersion, ...AgentVersion[]];
  /** The use of a tool that has called the agent; undefined for the reply's own. */
  caller: RunningTool | undefined;
}

/** Answers messages with the agent's model and tools. */
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

/** For the model and for clients to read. */
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
  let said = '';
  let saidBytes = 0;
  let handedOver = false;
  let isForcedToRespond = false;
  const isReply = task.agents.length === 1;

  for (let step = 1; ; step += 1) {
    // The last call of the model, and one after a form, must be an answer.
    const mustRespond = handedOver || isForcedToRespond || step === maxSteps || !task.budget.takeModelCall();
    if (mustRespond) lastCall.take();
    const wanted: LanguageModelV4ToolCall[] = [];
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
        // A gap may come before it.
        text: Math.max(task.budget.limits.replyBytes - saidBytes - (said === '' ? 0 : 2), 0),
        other: task.budget.limits.replyBytes,
      },
      {
        text(delta) {
          if (delta === '') return;
          // What is said behind a step begins a paragraph of its own.
          const gap = isNewStep && said !== '' && !/\s$/.test(said) ? '\n\n' : '';
          isNewStep = false;
          said += gap + delta;
          saidBytes += Buffer.byteLength(gap + delta);
          emit({ type: 'text', text: gap + delta });
        },
        toolCall(call) {
          wanted.push(call);
          return mustRespond ? {} : calls.start(call);
        },
      },
    );
    if (finishReason === 'bytes') {
      // Whoever called this agent goes on, and no step of its may stay open; the reply itself ends them all.
      if (!isReply) await calls.results();
      return { cutShort: null, incomplete: 'max_output_tokens' };
    }
    if (wanted.length === 0 && isReply && finishReason === 'length')
      return { cutShort: null, incomplete: 'max_output_tokens' };
    if (wanted.length === 0)
      return cutShortBy(reasonCutShort(finishReason, { said, handedOver, maxOutputTokens }));
    // It was told to speak and would rather go on.
    if (mustRespond && step === maxSteps && !handedOver)
      return cutShortBy(`The agent reached its limit of ${maxSteps} steps`);
    if (mustRespond)
      return cutShortBy(
        handedOver ? null : limitTexts[isForcedToRespond ? 'toolUses' : 'modelCalls'](task.budget),
      );
    exchange.push({ role: 'assistant', content }, { role: 'tool', content: await calls.results() });
  }
}

/** Hears one call of a model and tells what it used: nothing when it failed before it said anything. */
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
  ...hearing: [
    bounds: Parameters<typeof readModelResponse>[1],
    listener: Parameters<typeof readModelResponse>[2],
  ]
): Promise<ModelResponse> {
  let usage = noUsage;
  emit({ type: 'call start', call });
  try {
    const stream = await open();
    usage = unknownUsage;
    const response = await readModelResponse(stream, ...hearing);
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
  reply: { said: string; handedOver: boolean; maxOutputTokens: number },
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
  // A form is an answer too: the user is asked something.
  return reply.said === '' && !reply.handedOver ? 'The model gave an empty reply' : null;
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

/** Another agent's answer inside this reply: its steps are shown, its tokens counted, its text goes to who asked. */
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
