import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import { conversePrompt } from './converse-prompt.ts';
import { httpFetch } from './http-fetch.ts';
import type { ModelProvider } from './model-provider.ts';

interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Of Bedrock's models those that take images, by its documentation. */
const sees = /claude-(3|[a-z]+-[4-9])|nova-(2-)?(lite|pro|premier|omni)|llama3-2-(11|90)b|llama4|pixtral/;

/**
 * Amazon Bedrock's Converse: `bedrock:` with the id of a model or of an inference profile, or an ARN. The Region is
 * AWS_REGION's, the address that of AWS_ENDPOINT_URL_BEDROCK_RUNTIME when it is set, as in AWS's own SDKs.
 * @param credentials asked for before each call, since a role's change
 */
export const bedrock = (settings: { credentials: () => Promise<AwsCredentials> }): ModelProvider => ({
  needsName: true,
  seesImages: (name) => sees.test(name),
  model: (name) => converseModel(name, settings.credentials),
});

function converseModel(name: string, credentials: () => Promise<AwsCredentials>): LanguageModelV4 {
  const signed = async () => {
    // Beside the credentials.
    const loaded = import('./amazon-bedrock.ts');
    loaded.catch(() => {});
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials().catch((error: unknown) => {
      const reason = error instanceof Error ? error.name : 'no reason given';
      throw new ModelFailure('failed', `There are no AWS credentials to ask Bedrock with (${reason})`);
    });
    const { makeProvider } = await loaded;
    const provider = makeProvider({
      fetch: httpFetch,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
    });
    // Its copy of the interface is some patches older, and has fewer words for how hard a model may think.
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

/** A stream that stops before `messageStop` would else pass for a whole reply: its finish has no reason. */
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
