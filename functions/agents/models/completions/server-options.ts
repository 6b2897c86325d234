import type { JSONObject, LanguageModelV4ToolCallPart } from '@ai-sdk/provider';

/** What a server adds to a part of its output. It may need it back, unchanged, in the next calls of a reply. */
type ServerOptions = {
  /** The field that had the reasoning: servers reject the fields of others. */
  reasoningField?: string;
  /** Of a tool call, such as the signature of Gemini's thoughts. */
  extraContent?: JSONObject;
};

export const serverOptions = (options: ServerOptions | undefined) =>
  options === undefined ? {} : { providerMetadata: { openai: options } };

export const serverOptionsOf = ({
  providerOptions,
}: Pick<LanguageModelV4ToolCallPart, 'providerOptions'>): ServerOptions => providerOptions?.openai ?? {};
