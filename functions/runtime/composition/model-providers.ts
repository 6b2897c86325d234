import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { cachedSecret } from '#adapters/secrets.ts';
import { bedrock } from '#agents/models/bedrock.ts';
import { demo } from '#agents/models/demo.ts';
import type { ModelProvider } from '#agents/models/model-provider.ts';
import { openai } from '#agents/models/openai.ts';
import { clientTimeouts, environment } from '#runtime/environment/environment.ts';
import { defaultProvider, lambdaRegion } from '#runtime/environment/lambda-credentials.ts';
import { measurements } from '#runtime/observability/invocation.ts';

/** The providers that an agent's `llm_model` can name: one line each. */
export const modelProviders: Record<string, ModelProvider> = {
  demo,
  bedrock: cachingModels(bedrock({ credentials: () => defaultProvider()(), region: lambdaRegion })),
  openai: cachingModels(
    openai({
      baseUrl: () => environment('openAiBaseUrl'),
      apiKey: cachedSecret(
        () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
        () => environment('openAiApiKeySecret'),
      ),
      onSkipped: (name, kind, count) =>
        measurements.add('modelEventsSkipped', count, { model: `openai:${name}`, kind }),
    }),
  ),
};

/**
 * Creates each model once. The provider's package also builds the schemas of the model's responses, which would add 0.4
 * ms to every call. The cache has one entry for each model name in agents.
 */
function cachingModels(provider: ModelProvider): ModelProvider {
  const models = new Map<string, ReturnType<ModelProvider['model']>>();
  return {
    ...provider,
    model(name) {
      const model = models.get(name) ?? provider.model(name);
      models.set(name, model);
      return model;
    },
  };
}
