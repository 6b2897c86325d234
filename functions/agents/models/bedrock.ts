import type { AwsCredentials } from './amazon-bedrock.ts';
import type { Model, ModelProvider } from './model-provider.ts';

interface BedrockSettings {
  credentials: () => Promise<AwsCredentials>;
  region: () => string;
}

/** Families of Bedrock models that accept images. */
const imageModels = [
  /claude-(?:3|[a-z]+-[4-9])/,
  /nova-(?:2-)?(?:lite|pro|premier|omni)/,
  /llama3-2-(?:11|90)b|llama4|pixtral/,
];

/** Bedrock models that accept no tools, according to AWS's documentation. */
const modelsWithoutTools =
  /titan-text|claude-(?:v2|instant)|jamba-instruct|j2-|command-(?:light-)?text|llama2|llama3-\d+b|llama3-2-[13]b|mistral-7b|mixtral|deepseek\.r1/;

/**
 * The provider `bedrock:`, whose names are model ids, inference profile ids or ARNs. As in AWS's SDKs,
 * AWS_ENDPOINT_URL_BEDROCK_RUNTIME sets another endpoint.
 * @param settings.credentials called for each model call, because a role's credentials expire
 */
export const bedrock = (settings: BedrockSettings): ModelProvider => ({
  needsName: true,
  seesImages: (name) => imageModels.some((pattern) => pattern.test(name)),
  lacksTools: (name) => modelsWithoutTools.test(name),
  model: (name) => ({
    doGenerate: async (call) => (await load(name, settings)).doGenerate(call),
    doStream: async (call) => (await load(name, settings)).doStream(call),
  }),
});

async function load(name: string, settings: BedrockSettings): Promise<Model> {
  const loaded = import('./amazon-bedrock.ts');
  loaded.catch(() => {});
  const region = settings.region();
  const credentials = await settings.credentials();
  return (await loaded).converseModel(name, { ...credentials, region });
}
