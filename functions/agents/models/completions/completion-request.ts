import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { resultText } from '#agents/models/model-provider.ts';
import { joinTexts } from '#domain/chats/agent-runtime.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { jsonIn } from '#domain/platform/parse-json.ts';
import {
  type Fields,
  fieldsOf,
  serverOptions,
  serverOptionsOf,
  ToolCallDeltas,
  textIn,
} from './tool-call-deltas.ts';

/** Why an event was skipped. `without-choices`: it has no usage either. `after-end`: an error after a whole reply. */
export type SkippedEvent = 'empty' | 'unparsable' | 'without-choices' | 'after-end';

/** The limit of OpenAI for one message of a prompt. */
const mostToolCalls = 128;

export class CompletionParts {
  readonly parts: LanguageModelV4StreamPart[] = [];
  readonly skipped = new Map<SkippedEvent, number>();
  events = 0;
  isClosed = false;
  isDone = false;
  readonly #toolCalls = new ToolCallDeltas();
  #open: 'text' | 'reasoning' | undefined;
  #hasText = false;
  #isRejected = false;
  #finishReason: string | undefined;
  #usage: Fields | undefined;

  get isComplete(): boolean {
    return this.#finishReason !== undefined || (this.isDone && (this.#hasText || this.#toolCalls.size > 0));
  }

  read(data: string, event?: string): void {
    if (this.isClosed) return;
    this.isDone = data.startsWith('[DONE]');
    if (this.isDone) this.close();
    else this.#readEvent(fieldsOf(jsonIn(data)), data, event);
  }

  close(
    error: unknown = new ModelFailure('failed', "The model's stream ended without a finish reason"),
  ): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (!this.isComplete) {
      this.parts.push({ type: 'error', error });
      return;
    }
    this.#endBlock();
    this.parts.push(...this.#toolCalls.parts(), {
      type: 'finish',
      finishReason: { unified: this.#unifiedReason(), raw: this.#finishReason },
      usage: usageOf(this.#usage),
    });
  }

  #readEvent(fields: Fields | undefined, data: string, event: string | undefined): void {
    const error = fields?.error || (event === 'error' && (fields ?? data));
    if (error && !this.isComplete) {
      this.close(error);
      return;
    }
    const skipped = error ? 'after-end' : this.#readFields(fields, data);
    if (skipped === undefined) this.events += 1;
    else this.skipped.set(skipped, (this.skipped.get(skipped) ?? 0) + 1);
  }

  #readFields(fields: Fields | undefined, data: string): SkippedEvent | undefined {
    if (fields === undefined) return data.trim() === '' ? 'empty' : 'unparsable';
    const choice = fieldsOf(Array.isArray(fields.choices) ? fields.choices[0] : undefined);
    const usage = fieldsOf(fields.usage) ?? fieldsOf(choice?.usage);
    if (usage !== undefined) this.#usage = usage;
    if (choice === undefined) return usage === undefined ? 'without-choices' : undefined;
    // A response that is one JSON object has a `message` instead of a `delta`.
    const delta = fieldsOf(choice.delta) ?? fieldsOf(choice.message);
    if (delta !== undefined) this.#readDelta(delta);
    this.#finishReason = textIn(choice.finish_reason) || this.#finishReason;
    return undefined;
  }

  #readDelta({ reasoning_content, reasoning, content, refusal, tool_calls }: Fields): void {
    if (textIn(reasoning_content) !== '')
      this.#append('reasoning', textIn(reasoning_content), 'reasoning_content');
    else this.#append('reasoning', textIn(reasoning), 'reasoning');
    if (Array.isArray(content)) for (const part of content) this.#readContentPart(fieldsOf(part));
    else this.#append('text', textIn(content));
    this.#isRejected ||= textIn(refusal) !== '';
    this.#append('text', textIn(refusal));
    if (Array.isArray(tool_calls)) for (const call of tool_calls) this.#readToolCall(fieldsOf(call) ?? {});
  }

  #readToolCall(fields: Fields): void {
    if (this.isClosed) return;
    const delta = this.#toolCalls.read(fields);
    if (delta !== '') this.parts.push({ type: 'tool-input-delta', id: '', delta });
    if (this.#toolCalls.size > mostToolCalls)
      this.close(new ModelFailure('failed', 'The model called too many tools at once'));
  }

  /** Models of Mistral may send thoughts as parts of the content. */
  #readContentPart(part: Fields = {}): void {
    if (part.type === 'text') this.#append('text', textIn(part.text));
    if (part.type !== 'thinking' || !Array.isArray(part.thinking)) return;
    for (const thought of part.thinking) this.#append('reasoning', textIn(fieldsOf(thought)?.text));
  }

  #append(block: 'text' | 'reasoning', delta: string, reasoningField?: string): void {
    if (delta === '') return;
    if (this.#open !== block) {
      this.#endBlock();
      this.#open = block;
      this.#hasText ||= block === 'text';
      const options = serverOptions(reasoningField === undefined ? undefined : { reasoningField });
      this.parts.push({ type: `${block}-start`, id: block, ...options });
    }
    this.parts.push({ type: `${block}-delta`, id: block, delta });
  }

  #endBlock(): void {
    if (this.#open !== undefined) this.parts.push({ type: `${this.#open}-end`, id: this.#open });
    this.#open = undefined;
  }

  #unifiedReason(): LanguageModelV4FinishReason['unified'] {
    if (this.#isRejected && this.#finishReason === 'stop') return 'content-filter';
    return unifiedReasons[this.#finishReason ?? 'stop'] ?? 'other';
  }
}

const unifiedReasons: Readonly<Record<string, LanguageModelV4FinishReason['unified']>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  error: 'error',
};

function usageOf({
  prompt_tokens,
  completion_tokens,
  prompt_tokens_details,
}: Fields = {}): LanguageModelV4Usage {
  const cacheRead = tokensIn(fieldsOf(prompt_tokens_details)?.cached_tokens);
  return {
    inputTokens: { total: tokensIn(prompt_tokens), noCache: undefined, cacheRead, cacheWrite: undefined },
    outputTokens: { total: tokensIn(completion_tokens), text: undefined, reasoning: undefined },
  };
}

const tokensIn = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;

type Message<Role> = Extract<LanguageModelV4Message, { role: Role }>;
type Content<Role> = Message<Role>['content'][number];

/** OpenAI's reasoning models need `max_completion_tokens`. Many other servers know only `max_tokens`. */
const reasoningModels = /^(gpt-5|o\d)/;

export function completionRequest(model: string, options: LanguageModelV4CallOptions): object {
  const { prompt, maxOutputTokens, toolChoice, tools = [] } = options;
  return {
    model,
    [reasoningModels.test(model) ? 'max_completion_tokens' : 'max_tokens']: maxOutputTokens,
    temperature: options.temperature,
    top_p: options.topP,
    frequency_penalty: options.frequencyPenalty,
    presence_penalty: options.presencePenalty,
    stop: options.stopSequences,
    seed: options.seed,
    reasoning_effort: options.reasoning,
    service_tier: options.providerOptions?.openai?.serviceTier,
    response_format: formatOf(options),
    messages: prompt.flatMap(messagesOf),
    ...(tools.length > 0 && {
      tools: tools.filter((tool) => tool.type === 'function').map(toolOf),
      tool_choice: toolChoice?.type,
    }),
  };
}

function formatOf({ responseFormat, providerOptions }: LanguageModelV4CallOptions): object | undefined {
  if (responseFormat?.type !== 'json') return undefined;
  const { name, description, schema } = responseFormat;
  if (schema === undefined) return { type: 'json_object' };
  const strict = providerOptions?.openai?.strictJsonSchema === true;
  return { type: 'json_schema', json_schema: { name, description, schema, strict } };
}

const toolOf = ({ name, description, inputSchema: parameters }: LanguageModelV4FunctionTool) => ({
  type: 'function',
  function: { name, description, parameters },
});

function messagesOf(message: LanguageModelV4Message): object[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user':
      return [{ role: 'user', content: userContent(message.content) }];
    case 'assistant':
      return [assistantMessage(message)];
    case 'tool':
      return message.content
        .filter((part) => part.type === 'tool-result')
        .map(({ toolCallId, output }) => ({
          role: 'tool',
          tool_call_id: toolCallId,
          content: resultText(output),
        }));
  }
}

/** A string for a text alone, because some servers accept no parts. */
function userContent(content: Message<'user'>['content']): string | object[] {
  const parts = joinTexts(content);
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' ? first.text : parts.map(userPart);
}

function userPart(part: Content<'user'>): object {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.data.type !== 'data' || typeof part.data.data !== 'string')
    throw new Error('An image of a prompt is not encoded');
  return { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${part.data.data}` } };
}

function assistantMessage({ content }: Message<'assistant'>): object {
  let text = '';
  const reasoning: Record<string, string> = {};
  const toolCalls: object[] = [];
  for (const part of content)
    if (part.type === 'text') text += part.text;
    else if (part.type === 'reasoning') {
      const { reasoningField: field } = serverOptionsOf(part);
      if (field !== undefined) reasoning[field] = (reasoning[field] ?? '') + part.text;
    } else if (part.type === 'tool-call')
      toolCalls.push({
        id: part.toolCallId,
        type: 'function',
        function: { name: part.toolName, arguments: JSON.stringify(part.input) },
        extra_content: serverOptionsOf(part).extraContent,
      });
  return toolCalls.length === 0
    ? { role: 'assistant', content: text, ...reasoning }
    : { role: 'assistant', content: text === '' ? null : text, ...reasoning, tool_calls: toolCalls };
}
