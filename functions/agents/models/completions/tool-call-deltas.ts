import { randomUUID } from 'node:crypto';
import type { JSONObject, LanguageModelV4ToolCall, LanguageModelV4ToolCallPart } from '@ai-sdk/provider';
import { jsonIn } from '#domain/platform/parse-json.ts';

export type Fields = Record<string, unknown>;

export const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null ? (value as Fields) : undefined;

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What later model calls of a reply may return to the server. */
type ServerOptions = {
  /** The field in which reasoning came and is returned: servers may reject others. Undefined if it is not returned. */
  reasoningField?: string;
  /** Such as the signature of Gemini's thoughts. */
  extraContent?: JSONObject;
};

export const serverOptions = (options: ServerOptions | undefined) =>
  options === undefined ? {} : { providerMetadata: { openai: options } };

export const serverOptionsOf = ({
  providerOptions,
}: Pick<LanguageModelV4ToolCallPart, 'providerOptions'>): ServerOptions => providerOptions?.openai ?? {};

interface ToolCall {
  index: unknown;
  id: string;
  name: string;
  arguments: string;
  extraContent: JSONObject | undefined;
}

/**
 * By the API, the first delta of a call has its index, id and name, and the later ones its index and a piece of its
 * arguments. Some servers leave out indexes or ids, give all calls index 0, repeat names, or send the arguments as an
 * object.
 */
export class ToolCallDeltas {
  readonly #calls: ToolCall[] = [];

  get size(): number {
    return this.#calls.length;
  }

  read({ index, id, function: named, extra_content }: Fields): string {
    const fields = fieldsOf(named) ?? {};
    const delta = {
      index,
      id: textIn(id),
      name: textIn(fields.name),
      arguments: argumentsIn(fields.arguments),
    };
    const call = this.#callOf(delta);
    call.id ||= delta.id;
    call.name ||= delta.name;
    call.arguments += delta.arguments;
    call.extraContent ??= fieldsOf(extra_content) as JSONObject | undefined;
    return delta.arguments;
  }

  /** A call without a name can neither run nor be returned to the server. */
  parts(): LanguageModelV4ToolCall[] {
    return this.#calls
      .filter(({ name }) => name !== '')
      .map(({ id, name, arguments: input, extraContent }) => ({
        type: 'tool-call',
        toolCallId: id || randomUUID(),
        toolName: name,
        input,
        ...serverOptions(extraContent && { extraContent }),
      }));
  }

  #callOf(delta: Omit<ToolCall, 'extraContent'>): ToolCall {
    const { index, id } = delta;
    const previous =
      typeof index === 'number'
        ? this.#calls.findLast((call) => call.index === index)
        : (this.#calls.findLast((call) => id !== '' && call.id === id) ?? this.#calls.at(-1));
    if (previous !== undefined && !startsAnother(previous, delta)) return previous;
    const call: ToolCall = { index, id: '', name: '', arguments: '', extraContent: undefined };
    this.#calls.push(call);
    return call;
  }
}

const argumentsIn = (value: unknown): string =>
  fieldsOf(value) === undefined ? textIn(value) : JSON.stringify(value);

const startsAnother = (call: ToolCall, delta: Omit<ToolCall, 'extraContent'>): boolean =>
  delta.name !== '' &&
  call.name !== '' &&
  (delta.name !== call.name ||
    (delta.id !== '' && call.id !== '' && delta.id !== call.id) ||
    (call.arguments !== '' && delta.arguments.trimStart().startsWith('{'))) &&
  isWhole(call.arguments);

const isWhole = (text: string): boolean => text.trim() === '' || jsonIn(text) !== undefined;
