import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import { conversePrompt } from './converse-prompt.ts';
import { httpFetch } from './http/http-fetch.ts';
import type { ModelProvider } from './model-provider.ts';

interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Bedrock models that accept images, according to its documentation. */
const imageModels = [
  /claude-(?:3|[a-z]+-[4-9])/,
  /nova-(?:2-)?(?:lite|pro|premier|omni)/,
  /llama3-2-(?:11|90)b|llama4|pixtral/,
];

/**
 * Amazon Bedrock's Converse API: `bedrock:` with a model id, an inference profile id or an ARN. The Region comes from
 * AWS_REGION, the endpoint from AWS_ENDPOINT_URL_BEDROCK_RUNTIME if it is set, as in AWS's SDKs.
 * @param settings.credentials called before each model call, because a role's credentials expire
 */
export const bedrock = (settings: { credentials: () => Promise<AwsCredentials> }): ModelProvider => ({
  needsName: true,
  seesImages: (name) => imageModels.some((pattern) => pattern.test(name)),
  model: (name) => converseModel(name, settings.credentials),
});

function converseModel(name: string, credentials: () => Promise<AwsCredentials>): LanguageModelV4 {
  const signed = async () => {
    // Loads the package concurrently with the credentials.
    const loaded = import('./amazon-bedrock.ts');
    loaded.catch(() => {});
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials();
    const { makeProvider } = await loaded;
    const provider = makeProvider({
      fetch: httpFetch,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
    });
    // The package depends on an older patch of the interface, whose reasoning options have fewer values.
    return provider(name) as LanguageModelV4;
  };
  const optionsOf = (options: LanguageModelV4CallOptions): LanguageModelV4CallOptions => ({
    ...options,
    prompt: conversePrompt(options),
  });
  return {
    specificationVersion: 'v4',
    provider: 'bedrock',
    modelId: name,
    supportedUrls: {},
    doGenerate: async (options) => (await signed()).doGenerate(optionsOf(options)),
    async doStream(options) {
      const { stream, ...response } = await (await signed()).doStream(optionsOf(options));
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
