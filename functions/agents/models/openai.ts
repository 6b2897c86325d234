import {
  APICallError,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { ModelFailure } from '#domain/platform/failures.ts';
import { networkCodeOf } from '../model-error.ts';
import { completionRequest, type SkippedEvent } from './completions/completion-request.ts';
import { readCompletion } from './completions/read-completion.ts';
import { httpFetch } from './http/http-fetch.ts';
import { withImages, withImageTokens } from './http/image-tokens.ts';
import { type ModelProvider, withoutTools } from './model-provider.ts';

/**
 * OpenAI's models that accept images, according to its documentation. Nothing is known about models of other servers.
 */
const imageModels =
  /^(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4-turbo|gpt-5|o[134])(?!-?(mini-)?(audio|search|transcribe|tts))/;

/** Characters of an error response that are read: its names and its reason are at the start. */
const errorBytes = 64 * 1024;

/** Characters of text that a call without a stream may return: only titles are made so. */
const plainBytes = 64 * 1024;

interface OpenAiSettings {
  baseUrl: () => string;
  /** Called before each model call; it must cache the key itself. */
  apiKey: () => Promise<string>;
  /** Called after each call for each kind of events that were not understood. */
  onSkipped: (model: string, kind: SkippedEvent, count: number) => void;
}

/** Any server with OpenAI's chat completions API: OpenAI, Azure, vLLM, Ollama, LiteLLM. */
export const openai = (settings: OpenAiSettings): ModelProvider => ({
  needsName: true,
  seesImages: (name) => imageModels.test(name),
  model(name) {
    const url = `${settings.baseUrl().replace(/\/$/, '')}/chat/completions`;
    const send = async (call: LanguageModelV4CallOptions, form: object) => {
      const { options, images } = withImageTokens(withoutTools(call));
      const body = JSON.stringify({ ...completionRequest(name, options), ...form });
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${await settings.apiKey()}`,
      };
      const { abortSignal: signal } = call;
      const request = { method: 'POST', headers, body, ...(signal && { signal }) };
      const response = await httpFetch(url, withImages(images, request)).catch((error: unknown) => {
        throw signal?.aborted ? error : unreachable(url, error);
      });
      if (!response.ok) throw await failureOf(url, response);
      return readCompletion(response.body ?? ReadableStream.from([]), (kind, count) =>
        settings.onSkipped(name, kind, count),
      );
    };
    return {
      specificationVersion: 'v4',
      provider: 'openai',
      modelId: name,
      supportedUrls: {},
      doGenerate: async (call) => ({ ...(await collect(await send(call, {}))), warnings: [] }),
      doStream: async (call) => ({
        stream: await send(call, { stream: true, stream_options: { include_usage: true } }),
      }),
    };
  },
});

const unreachable = (url: string, error: unknown): ModelFailure =>
  new ModelFailure(
    'unavailable',
    `The provider at ${new URL(url).host} could not be reached (${networkCodeOf(error) ?? 'no reason given'})`,
  );

async function failureOf(url: string, { status, headers, body }: Response): Promise<APICallError> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length >= errorBytes) break;
    }
  } catch {
    // The status says enough.
  }
  return new APICallError({
    message: 'An error response',
    ...{ url, requestBodyValues: undefined, statusCode: status, responseBody: text },
    responseHeaders: Object.fromEntries(headers),
  });
}

/** The output of a call without a stream. */
async function collect(stream: ReadableStream<LanguageModelV4StreamPart>) {
  let text = '';
  const calls: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>[] = [];
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') text += part.delta;
    if (part.type === 'tool-call') calls.push(part);
    if (part.type === 'finish') {
      const { finishReason, usage } = part;
      const texts = text === '' ? [] : [{ type: 'text' as const, text }];
      return { content: [...texts, ...calls], finishReason, usage };
    }
    if (text.length > plainBytes) break;
  }
  throw new ModelFailure('failed', 'The model returned more than a call without a stream may');
}
