import { randomUUID } from 'node:crypto';
import type { JSONObject, LanguageModelV4ToolCall, LanguageModelV4ToolCallPart } from '@ai-sdk/provider';
import { jsonIn } from '#domain/platform/parse-json.ts';

/** The fields of an object of unknown shape. */
export type Fields = Record<string, unknown>;

export const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null ? (value as Fields) : undefined;

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What a server adds to a part of its output. The server may need it back, unchanged, in the next calls of a reply. */
type ServerOptions = {
  /**
   * The field in which the server has sent reasoning. The reasoning is returned in the same field, because servers may
   * reject the fields of other servers.
   */
  reasoningField?: string;
  /** What the server has added to a tool call, such as the signature of Gemini's thoughts. */
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
 * Assembles the tool calls of a response from their deltas. By the API, the first delta of a call has its index, id
 * and name, and the later ones its index and a piece of its arguments. Some servers leave out indexes or ids, give
 * all calls index 0, repeat names, or send the arguments as an object.
 */
export class ToolCallDeltas {
  readonly #calls: ToolCall[] = [];

  get size(): number {
    return this.#calls.length;
  }

  /** @returns the text that the delta adds to the arguments */
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

  /** The calls. One without a name is left out: it can neither run nor be returned to the server. */
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

/** Whether a delta that fits a call by its index, id or place starts a further call. */
const startsAnother = (call: ToolCall, delta: Omit<ToolCall, 'extraContent'>): boolean =>
  delta.name !== '' &&
  call.name !== '' &&
  (delta.name !== call.name ||
    (delta.id !== '' && call.id !== '' && delta.id !== call.id) ||
    (call.arguments !== '' && delta.arguments.trimStart().startsWith('{'))) &&
  isWhole(call.arguments);

/** Whether the text can be all arguments of a call. */
const isWhole = (text: string): boolean => text.trim() === '' || jsonIn(text) !== undefined;
