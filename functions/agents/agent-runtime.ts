import { randomUUID } from 'node:crypto';
import { isStepCount, jsonSchema, streamText, type Tool, ToolChoiceViolationError, type ToolSet } from 'ai';
import * as z from 'zod';
import type { TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agent.ts';
import { noUsage, sumOfUsage } from '#domain/message.ts';
import { ModelFailure, modelFailureTexts } from '#domain/model-failure.ts';
import type { AgentRuntime, ReplyPart, ReplyRequest } from '#domain/ports/agent-runtime.ts';
import type { AttachmentReader } from '#domain/ports/attachment-reader.ts';
import { type Shown, showAttachments } from './attachments.ts';
import { conversationOf } from './conversation.ts';
import { modelFailureOf } from './model-error.ts';
import { findProvider, type ModelProvider } from './models/model-provider.ts';
import { retryingModel } from './retrying-model.ts';
import { titleOf } from './title.ts';
import { type AgentTool, ToolFailure, type ToolUse } from './tools/agent-tool.ts';
import { type OfferedTool, offeredTools } from './tools/offered-tools.ts';
import { failedUse, type ToolEnd, useTool } from './tools/use-tool.ts';

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
}

type Tell = (part: ReplyPart) => void;

/** A reply on its way, or a part of one that another agent makes. */
interface Task extends Omit<ReplyRequest, 'agent'> {
  /** Who asked whom, the one that answers last. */
  agents: readonly [AgentVersion, ...AgentVersion[]];
}

/** Answers messages with the agent's model and tools, through the AI SDK. */
export function aiAgentRuntime(settings: AgentRuntimeSettings): AgentRuntime {
  return {
    reply: ({ agent, ...request }, tell) => reply(settings, { ...request, agents: [agent] }, tell),

    async title({ agent, message, signal }) {
      const { provider, name } = findProvider(settings.providers, agent.definition.llm_model);
      if (provider.title !== undefined) return provider.title(message);
      return titleOf(retryingModel(provider.model(name)), message, signal);
    },
  };
}

async function reply(
  settings: AgentRuntimeSettings,
  task: Task,
  tell: Tell,
): Promise<{ cutShort: string | null }> {
  try {
    return await runLoop(settings, task, tell);
  } catch (error) {
    throw modelFailureOf(error);
  }
}

async function runLoop(
  settings: AgentRuntimeSettings,
  task: Task,
  tell: Tell,
): Promise<{ cutShort: string | null }> {
  const { definition } = task.agents.at(-1) ?? task.agents[0];
  const { meta } = definition;
  const { provider, name } = findProvider(settings.providers, definition.llm_model);
  const { parts: shown, isSearchNeeded } = await shownAttachments(
    settings,
    task,
    meta.vision ?? provider.seesImages(name),
  );
  const offered = offeredTools(settings.tools, definition, isSearchNeeded ? ['consultant_lookup'] : []);
  const maxOutputTokens = meta.max_output_tokens ?? defaults.maxOutputTokens;
  const maxSteps = meta.max_steps ?? defaults.maxSteps;
  const steps = openSteps(offered, tell);
  let handedOver = false;

  const result = streamText({
    model: retryingModel(provider.model(name)),
    ...(definition.system_prompt !== '' && { instructions: definition.system_prompt }),
    messages: conversationOf(
      task.history,
      { content: task.message, attachments: task.attachments },
      { shown, offered },
    ),
    maxOutputTokens,
    ...(meta.temperature !== undefined && { temperature: meta.temperature }),
    ...(offered.length > 0 && {
      tools: toolSetOf(offered, (tool, input) => {
        handedOver ||= tool.tool.handsOver === true;
        return useTool(tool, input, toolUse(settings, task, tool, tell), settings.toolTimeout);
      }),
      stopWhen: isStepCount(maxSteps),
      // The last call of the model, and one behind a form, must be an answer.
      prepareStep: ({ stepNumber }: { stepNumber: number }) =>
        handedOver || stepNumber === maxSteps - 1 ? { toolChoice: 'none' as const } : undefined,
    }),
    maxRetries: 0,
    abortSignal: task.signal,
    onError: () => undefined,
    onLanguageModelCallEnd: ({ usage }) =>
      tell({
        type: 'usage',
        usage: usageOf(usage),
        model: definition.llm_model,
        callType: task.agents.length === 1 ? 'chat' : 'consultant_call_agent',
      }),
  });

  let said = '';
  let isNewStep = false;
  for await (const part of result.stream)
    switch (part.type) {
      case 'start-step':
        isNewStep = true;
        break;
      case 'text-delta': {
        if (part.text === '') break;
        // What is said behind a step begins a paragraph of its own.
        const gap = isNewStep && said !== '' && !/\s$/.test(said) ? '\n\n' : '';
        isNewStep = false;
        said += gap + part.text;
        tell({ type: 'text', text: gap + part.text });
        break;
      }
      case 'tool-call':
        steps.start(part.toolCallId, part.toolName, part.input, part.invalid === true);
        break;
      case 'tool-result':
        steps.end(part.toolCallId, part.output as ToolEnd);
        break;
      case 'tool-error':
        steps.end(part.toolCallId, failedUse('The arguments do not fit this tool'));
        break;
      case 'finish':
        return {
          cutShort: reasonCutShort(part.finishReason, { said, handedOver, maxOutputTokens, maxSteps }),
        };
      case 'error':
        // It was told to speak and would rather go on.
        if (ToolChoiceViolationError.isInstance(part.error))
          return { cutShort: handedOver ? null : stepLimit(maxSteps) };
        throw part.error;
      case 'abort':
        throw new ModelFailure('failed', 'The reply was aborted');
    }
  throw new ModelFailure('failed', 'The model ended its reply without a finish');
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

const stepLimit = (steps: number) => `The agent reached its limit of ${steps} steps`;

function reasonCutShort(
  finishReason: string,
  reply: { said: string; handedOver: boolean; maxOutputTokens: number; maxSteps: number },
): string | null {
  switch (finishReason) {
    case 'length':
      return `The reply was cut at the limit of ${reply.maxOutputTokens} tokens`;
    case 'content-filter':
      return 'The reply was cut by the content filter of the model';
    case 'tool-calls':
      return stepLimit(reply.maxSteps);
  }
  // A form is an answer too: the user is asked something.
  return reply.said === '' && !reply.handedOver ? 'The model gave an empty reply' : null;
}

/** Tools as the AI SDK takes them. Arguments that do not fit never reach `run`. */
function toolSetOf(
  offered: readonly OfferedTool[],
  run: (tool: OfferedTool, input: unknown) => Promise<ToolEnd>,
): ToolSet {
  return Object.fromEntries(
    offered.map((entry): [string, Tool] => [
      entry.name,
      {
        description: entry.description,
        inputSchema: schemaOf(entry.tool.input(entry.config)),
        execute: (input: unknown) => run(entry, input),
        toModelOutput: ({ output }: { output: unknown }) => ({
          type: 'json',
          value: (output as ToolEnd).result as never,
        }),
      } as Tool,
    ]),
  );
}

const schemas = new WeakMap<z.ZodType, ReturnType<typeof jsonSchema>>();

/** Made once for each schema: a conversion takes longer than a request has. */
function schemaOf(type: z.ZodType): ReturnType<typeof jsonSchema> {
  const known = schemas.get(type);
  if (known !== undefined) return known;
  const schema = jsonSchema(z.toJSONSchema(type, { target: 'draft-7', io: 'input' }) as never, {
    validate(value) {
      const parsed = type.safeParse(value);
      return parsed.success
        ? { success: true, value: parsed.data }
        : { success: false, error: new Error(z.prettifyError(parsed.error)) };
    },
  });
  schemas.set(type, schema);
  return schema;
}

/** Tells steps as they start and end, under ids of our own: a provider may give two calls the same. */
function openSteps(offered: readonly OfferedTool[], tell: Tell) {
  const ids = new Map<string, string>();
  return {
    start(callId: string, toolName: string, input: unknown, invalid: boolean): void {
      const entry = offered.find(({ name }) => name === toolName);
      // The model made a name up, and is told so; there is nothing that began.
      if (entry === undefined) return;
      const id = `step_${randomUUID()}`;
      ids.set(callId, id);
      const step = invalid
        ? { content: 'Arguments that do not fit', args: plainObject(input) }
        : entry.tool.start(input, entry.config);
      tell({ type: 'step start', step: { id, type: entry.tool.type, ...step } });
    },
    end(callId: string, { result, usage }: ToolEnd): void {
      const id = ids.get(callId);
      if (id === undefined) return;
      ids.delete(callId);
      tell({ type: 'step end', step: { id, result, token_usage: usage } });
    },
  };
}

const plainObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const toolUse = (
  settings: AgentRuntimeSettings,
  task: Task,
  { config }: OfferedTool,
  tell: Tell,
): ToolUse<unknown> => ({
  config,
  chat: task.chat,
  attachments: task.attachments,
  agents: task.agents,
  signal: task.signal,
  ask: (agent, message, signal) => ask(settings, { ...task, signal, message }, agent, tell),
});

/** Another agent's answer inside this reply: its steps are shown, its tokens counted, its text goes to who asked. */
async function ask(
  settings: AgentRuntimeSettings,
  task: Task,
  agent: AgentVersion,
  tell: Tell,
): Promise<{ text: string; usage: TokenUsage }> {
  let text = '';
  let usage = noUsage;
  const listen: Tell = (part) => {
    if (part.type === 'text') text += part.text;
    else tell(part);
    if (part.type === 'usage') usage = sumOfUsage(usage, part.usage);
  };
  try {
    const { cutShort } = await reply(
      settings,
      { ...task, history: [], attachments: [], agents: [...task.agents, agent] as Task['agents'] },
      listen,
    );
    if (cutShort !== null) throw new ToolFailure(cutShort, { usage });
    return { text, usage };
  } catch (error) {
    if (error instanceof ModelFailure)
      throw new ToolFailure(modelFailureTexts[error.kind], { usage, cause: error });
    throw error;
  }
}

const usageOf = (usage: {
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  totalTokens: number | undefined;
}): TokenUsage => ({
  total_prompt_tokens: usage.inputTokens ?? 0,
  total_completion_tokens: usage.outputTokens ?? 0,
  total_tokens: usage.totalTokens ?? 0,
  total_calls: 1,
});
