import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { ModelFailure } from '#domain/platform/failures.ts';
import type { AwsCredentials } from './amazon-bedrock.ts';
import { type Images, withImages, withImageTokens } from './http/image-tokens.ts';
import { type ModelProvider, withoutToolParts } from './model-provider.ts';

/**
 * Adapts a prompt to what the Converse API accepts.
 * - Converse rejects blank texts, so they are removed. It also rejects two messages of one role in a row; the AI SDK's
 *   provider joins those.
 * - Converse rejects tool calls and results in the history of a call without tools, and it has no tool choice `none`.
 *   The provider would drop them, and the last call of a reply would not see the results. So results become user text.
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
 * Bedrock models that cache prompts up to a mark, according to its documentation; others reject a mark. A mark writes to the cache,
 * which Claude charges at five quarters of its price; a prompt of another call that begins the same costs a tenth.
 */
const cachingModels = [/claude-3-(?:5-haiku|7)|claude-[a-z]+-[4-9]/, /nova-(?:micro|lite|pro|premier)/];

const cachePoint = { bedrock: { cachePoint: { type: 'default' } } };

/**
 * Marks the end of what the next call is likely to begin with: the system message, and, if the prompt has more than one message of
 * a user, the last one, and the last results of tools. So a prompt that nobody goes on with, such as that of a request of a
 * batch, writes nothing but its system message. Bedrock takes four marks.
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

/** The package sends the tools with a form also if the choice is `none`. The results are text already. */
const mustRespondInForm = ({ responseFormat, toolChoice }: LanguageModelV4CallOptions): boolean =>
  responseFormat?.type === 'json' && toolChoice?.type === 'none';

const withoutTools = ({ tools: _, toolChoice: __, ...others }: LanguageModelV4CallOptions) => others;

interface BedrockSettings {
  credentials: () => Promise<AwsCredentials>;
  region: () => string;
}

/** Bedrock models that accept images, according to its documentation. */
const imageModels = [
  /claude-(?:3|[a-z]+-[4-9])/,
  /nova-(?:2-)?(?:lite|pro|premier|omni)/,
  /llama3-2-(?:11|90)b|llama4|pixtral/,
];

/** Bedrock models that accept no tools, according to its documentation. */
const modelsWithoutTools =
  /titan-text|claude-(?:v2|instant)|jamba-instruct|j2-|command-(?:light-)?text|llama2|llama3-\d+b|llama3-2-[13]b|mistral-7b|mixtral|deepseek\.r1/;

/**
 * Amazon Bedrock's Converse API: `bedrock:` with a model id, an inference profile id or an ARN. The endpoint comes from
 * AWS_ENDPOINT_URL_BEDROCK_RUNTIME if it is set, as in AWS's SDKs.
 * @param settings.credentials called before each model call, because a role's credentials expire
 */
export const bedrock = (settings: BedrockSettings): ModelProvider => ({
  needsName: true,
  seesImages: (name) => imageModels.some((pattern) => pattern.test(name)),
  lacksTools: (name) => modelsWithoutTools.test(name),
  model: (name) => converseModel(name, settings),
});

function converseModel(name: string, settings: BedrockSettings): LanguageModelV4 {
  const modelWith = async (images: Images) => {
    // Loads the package concurrently with the credentials.
    const loaded = import('./amazon-bedrock.ts');
    loaded.catch(() => {});
    const region = settings.region();
    const credentials = await settings.credentials();
    const { makeProvider, signedFetch } = await loaded;
    const provider = makeProvider({
      region,
      // With a key, the package signs nothing. The signature replaces the key, which AWS never gets.
      apiKey: 'unused',
      fetch: (input, init) => signedFetch({ ...credentials, region }, input, withImages(images, init)),
    });
    // The package depends on an older patch of the interface, whose reasoning options have fewer values.
    return provider(name) as LanguageModelV4;
  };
  const cachesPrompts = cachingModels.some((pattern) => pattern.test(name));
  const prepared = (call: LanguageModelV4CallOptions) => {
    const prompt = conversePrompt(call);
    const marked = { ...call, prompt: cachesPrompts ? withCachePoints(prompt) : prompt };
    return withImageTokens(mustRespondInForm(call) ? withoutTools(marked) : marked);
  };
  return {
    specificationVersion: 'v4',
    provider: 'bedrock',
    modelId: name,
    supportedUrls: {},
    async doGenerate(call) {
      const { options, images } = prepared(call);
      return (await modelWith(images)).doGenerate(options);
    },
    async doStream(call) {
      const { options, images } = prepared(call);
      const { stream, ...response } = await (await modelWith(images)).doStream(options);
      return { ...response, stream: stream.pipeThrough(rejectMissingEnd()) };
    },
  };
}

/**
 * Without this, a stream that ends before `messageStop` looks like a complete reply: its finish part has no raw reason.
 */
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
