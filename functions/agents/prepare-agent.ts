import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { type AgentVersion, defaultMaxOutputTokens } from '#domain/agents/agent.ts';
import type { ModelCall, ReplyPart, ReplyRequest, RunningTool } from '#domain/chats/agent-runtime.ts';
import type { ReplyForm } from '#domain/chats/reply-form.ts';
import type { AttachmentReader } from '#domain/files/files.ts';
import { type Shown, showAttachments } from './attachments.ts';
import { conversationOf, PreviousMessages, streamWithinContext } from './conversation.ts';
import { findProvider } from './models/model-provider.ts';
import { type ModelSettings, modelsOf } from './request-model.ts';
import { withoutTaggedReasoning } from './tagged-reasoning.ts';
import {
  type DeferredKind,
  lookupType,
  type OfferedTool,
  offeredTools,
  type ReplyScope,
  type ToolKind,
} from './tools/agent-tool.ts';
import { functionTools } from './tools/tool-calls.ts';

export interface Task extends Omit<ReplyRequest, 'agent'> {
  /** The reply's agent first, the agent of this task last. */
  agents: readonly [AgentVersion, ...AgentVersion[]];
  scope: ReplyScope;
  caller: RunningTool | undefined;
}

export type Emit = (part: ReplyPart) => void;

/** Model calls without retries and repairs: seven rounds of tools and the final text. */
const defaultMaxSteps = 8;

export interface AgentSettings extends ModelSettings {
  tools: readonly (ToolKind | DeferredKind)[];
  attachments: () => AttachmentReader;
}

export interface PreparedAgent {
  call(): Omit<ModelCall, 'callType'>;
  maxOutputTokens: number;
  maxSteps: number;
  offered: OfferedTool[];
  form: ReplyForm | undefined;
  isWithoutRejected(): boolean;
  /**
   * @param exchange the output of the previous calls of the task, with the results of tools or the request for a repair
   * @param onCall called as `RetryingModel` says
   */
  stream(
    exchange: LanguageModelV4Prompt,
    toolChoice: 'auto' | 'none',
    onCall: (isCalled: boolean) => void,
  ): Promise<AsyncIterable<LanguageModelV4StreamPart>>;
}

export async function prepareAgent(settings: AgentSettings, task: Task): Promise<PreparedAgent> {
  const { definition } = task.agents.at(-1) ?? task.agents[0];
  const { meta, llm_model: modelName, output_schema } = definition;
  const serviceTier = (task.isOfBatch ? meta.batch_service_tier : undefined) ?? meta.service_tier;
  const { provider, name } = findProvider(settings.providers, modelName);
  const requested = task.agents.length === 1 ? task.form : undefined;
  const form = output_schema ? { name: 'reply', schema: output_schema } : requested;
  // OpenAI rejects a schema that is sent as strict, but is not.
  const strictJsonSchema = form?.schema && (await import('#domain/chats/reply-form.ts')).isStrictForm(form);
  const seesImages = meta.vision ?? provider.seesImages(name);
  const shown = await shownAttachments(settings, task, seesImages);
  const needed = shown.isSearchNeeded ? [lookupType] : [];
  const offered = (await offeredTools(settings.tools, definition, needed)).filter(
    (tool) => mayUse(task, tool) && !(form !== undefined && tool.handsOver),
  );
  const maxOutputTokens = meta.max_output_tokens ?? defaultMaxOutputTokens;
  const models = modelsOf(settings, definition, task.budget);
  const instructions: LanguageModelV4Prompt =
    definition.system_prompt === '' ? [] : [{ role: 'system', content: definition.system_prompt }];
  const previous = new PreviousMessages(task.history);
  const { message: content, attachments, parts } = task;
  const message = { content, attachments, parts };
  return {
    call: () => ({ model: models.current.name, tier: serviceTier }),
    maxOutputTokens,
    maxSteps: meta.max_steps ?? defaultMaxSteps,
    offered,
    form,
    isWithoutRejected: () => previous.isWithoutRejected,
    async stream(exchange, toolChoice, onCall) {
      const open = () => {
        const options: LanguageModelV4CallOptions = {
          prompt: [
            ...instructions,
            ...conversationOf(previous.messages, message, { shown: shown.parts, seesImages, offered }),
            ...exchange,
          ],
          maxOutputTokens,
          ...(meta.temperature !== undefined && { temperature: meta.temperature }),
          ...(meta.reasoning_effort !== undefined && { reasoning: meta.reasoning_effort }),
          providerOptions: { openai: { serviceTier, strictJsonSchema }, bedrock: { serviceTier } },
          ...task.sampling,
          ...(form !== undefined && { responseFormat: responseFormatOf(form) }),
          ...(offered.length > 0 && { tools: functionTools(offered), toolChoice: { type: toolChoice } }),
          abortSignal: task.signal,
        };
        return models.current.model.stream(options, onCall);
      };
      // Only the first call may fall back: later prompts may contain its model's thoughts, which others may reject.
      const stream = await models.call(exchange.length === 0, () =>
        streamWithinContext(previous, open, (failure) => models.current.mayRetry(failure)),
      );
      return meta.reasoning_tags === true ? withoutTaggedReasoning(stream) : stream;
    },
  };
}

const responseFormatOf = (form: ReplyForm) =>
  ({ type: 'json', ...form }) as LanguageModelV4CallOptions['responseFormat'] & object;

/** The chat is not a called agent's own. Without a chat, no next message responds to a tool that hands over. */
const mayUse = ({ caller, chat }: Task, { searchesChat, handsOver }: OfferedTool): boolean =>
  !(searchesChat && caller !== undefined) && !(chat === null && (searchesChat || handsOver));

function shownAttachments(
  settings: Pick<AgentSettings, 'attachments'>,
  task: Task,
  seesImages: boolean,
): Promise<Shown> | Shown {
  const files = [
    ...task.history.flatMap((message) => (message.role === 'user' ? message.attachments : [])),
    ...task.attachments,
  ];
  if (files.length === 0) return { parts: new Map(), isSearchNeeded: false };
  return showAttachments(settings.attachments(), files, { seesImages, signal: task.signal });
}
