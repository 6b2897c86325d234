import { createHash } from 'node:crypto';
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { AwsV4Signer } from 'aws4fetch';
import { ModelFailure } from '#domain/platform/failures.ts';
import { httpFetch } from './http/http-fetch.ts';
import { type Images, withImages, withImageTokens } from './http/image-tokens.ts';
import { type Model, withoutToolParts } from './model-provider.ts';

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Makes a model for one call, because credentials expire. Import this file only at a call: its package is large. */
export function converseModel(name: string, settings: AwsCredentials & { region: string }): Model {
  const { region } = settings;
  const modelWith = (images: Images) =>
    createAmazonBedrock({
      region,
      // With a key, the package signs nothing. `signedFetch` overwrites the header that has the key.
      apiKey: 'unused',
      fetch: (input, init) => signedFetch(settings, input, withImages(images, init)),
      // The package depends on an older patch of the interface, whose reasoning options have fewer values.
    })(name) as Model;
  const cachesPrompts = cachingModels.some((pattern) => pattern.test(name));
  const prepared = (call: LanguageModelV4CallOptions) => {
    const prompt = conversePrompt(call);
    const marked = { ...call, prompt: cachesPrompts ? withCachePoints(prompt) : prompt };
    return withImageTokens(call.toolChoice?.type === 'none' ? withoutTools(marked) : marked);
  };
  return {
    doGenerate(call) {
      const { options, images } = prepared(call);
      return modelWith(images).doGenerate(options);
    },
    async doStream(call) {
      const { options, images } = prepared(call);
      const { stream, ...response } = await modelWith(images).doStream(options);
      return { ...response, stream: stream.pipeThrough(rejectMissingEnd()) };
    },
  };
}

/**
 * Converse rejects blank texts. In a call without tools it also rejects tool calls and results in the history, so calls
 * are left out and results become user text: the package would drop both. Converse has no tool choice `none`.
 */
function conversePrompt({
  prompt,
  tools = [],
  toolChoice,
}: LanguageModelV4CallOptions): LanguageModelV4Message[] {
  const isWithoutTools = tools.length === 0 || toolChoice?.type === 'none';
  return prompt
    .map(isWithoutTools ? withoutToolParts : (message) => message)
    .map(withoutBlanks)
    .filter(hasContent);
}

/** A user message that is entirely blank stays, so that Converse itself rejects the call. */
function withoutBlanks(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'user') {
    const content = message.content.filter((part) => part.type !== 'text' || !isBlank(part.text));
    return content.length > 0 ? { ...message, content } : message;
  }
  return message.role === 'assistant'
    ? { ...message, content: message.content.filter((part) => part.type !== 'text' || !isBlank(part.text)) }
    : message;
}

const hasContent = ({ role, content }: LanguageModelV4Message): boolean =>
  role === 'system' ? !isBlank(content) : content.length > 0;

const isBlank = (text: string): boolean => text.trim() === '';

/**
 * Bedrock models that cache prompts up to a mark, according to AWS's documentation, and later versions of Claude. Other
 * models may reject a mark.
 */
const cachingModels = [/claude-3-(?:5-haiku|7)|claude-[a-z]+-[4-9]/, /nova-(?:micro|lite|pro|premier)/];

const cachePoint = { bedrock: { cachePoint: { type: 'default' } } };

/**
 * Marks the ends of what later calls are likely to begin with. A single user message without a tool result gets no
 * mark, because there may be no later call. Bedrock accepts four marks.
 */
function withCachePoints(prompt: readonly LanguageModelV4Message[]): LanguageModelV4Message[] {
  const lastOf = (role: LanguageModelV4Message['role']) => prompt.findLastIndex((each) => each.role === role);
  const goesOn = prompt.filter(({ role }) => role === 'user').length > 1 || lastOf('tool') >= 0;
  const marked = [lastOf('system'), ...(goesOn ? [lastOf('user'), lastOf('tool')] : [])];
  return prompt.map((message, index) =>
    marked.includes(index)
      ? { ...message, providerOptions: { ...message.providerOptions, ...cachePoint } }
      : message,
  );
}

/** If the reply has a schema, the package may send the tools even if the choice is `none`. */
const withoutTools = ({ tools: _, toolChoice: __, ...others }: LanguageModelV4CallOptions) => others;

/** A stream that ends before `messageStop` looks complete: the one sign is a finish part without a raw reason. */
const rejectMissingEnd = () =>
  new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
    transform(part, controller) {
      if (
        part.type === 'finish' &&
        part.finishReason.raw === undefined &&
        part.finishReason.unified === 'other'
      )
        controller.enqueue({
          type: 'error',
          error: new ModelFailure('failed', "The model's stream ended without a stop reason"),
        });
      controller.enqueue(part);
    },
  });

/** The AI SDK's package for Bedrock can sign as well, but needs the body as one text. */
async function signedFetch(
  settings: AwsCredentials & { region: string },
  input: string | URL | Request,
  init: RequestInit,
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('x-amz-content-sha256', await hashOf(init));
  const signer = new AwsV4Signer({
    ...settings,
    service: 'bedrock',
    method: 'POST',
    url: String(input),
    headers,
  });
  return httpFetch(signer.url, { ...init, headers: (await signer.sign()).headers });
}

async function hashOf({ body, signal }: RequestInit): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of typeof body === 'string' ? [body] : (body as AsyncIterable<Uint8Array>)) {
    signal?.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
}
