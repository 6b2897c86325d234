import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { cachedSecret } from '#adapters/secrets.ts';
import { bedrock } from '#agents/models/bedrock.ts';
import { demo } from '#agents/models/demo.ts';
import type { ModelServer } from '#agents/models/http/model-server.ts';
import type { ModelProvider } from '#agents/models/model-provider.ts';
import { openai } from '#agents/models/openai.ts';
import { once } from '#domain/platform/services.ts';
import { clientTimeouts, environment, lazily } from '#runtime/environment/environment.ts';
import { lambdaRegion } from '#runtime/environment/lambda-credentials.ts';
import { measurements } from '#runtime/observability/invocation.ts';

export const modelProviders = /* @__PURE__ */ lazily(
  (): Record<string, ModelProvider> => ({
    demo,
    bedrock: cachingModels(bedrock({ credentials: () => defaultProvider()(), region: lambdaRegion })),
    openai: at('openai', openai, () => ({
      url: environment('openAiBaseUrl'),
      secret: environment('openAiApiKeySecret'),
    })),
    ...atEndpoints('openai', openai),
  }),
);

const at = (
  name: string,
  provider: (server: ModelServer) => ModelProvider,
  endpoint: () => { url: string; secret: string },
): ModelProvider =>
  cachingModels(
    provider({
      baseUrl: () => endpoint().url,
      apiKey: cachedSecret(
        () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
        () => endpoint().secret,
      ),
      onSkipped: (model, kind, count) =>
        measurements.add('modelEventsSkipped', count, { model: `${name}:${model}`, kind }),
    }),
  );

const atEndpoints = (name: string, provider: (server: ModelServer) => ModelProvider) =>
  Object.fromEntries(
    Object.entries(environment('openAiEndpoints')).map(([endpointName, endpoint]) => [
      `${name}@${endpointName}`,
      at(`${name}@${endpointName}`, provider, () => endpoint),
    ]),
  );

/** Replies of a process that use the same model share the wait that its server asks for. */
const cachingModels = (provider: ModelProvider): ModelProvider => ({
  ...provider,
  model: once((name) => provider.model(name)),
});
