import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { cachedSecret } from '#adapters/cached-secret.ts';
import { demo } from '#agents/models/demo.ts';
import { findProvider, type ModelProvider } from '#agents/models/model-provider.ts';
import { openai } from '#agents/models/openai.ts';
import { clientTimeouts } from './client-timeouts.ts';
import { environment } from './environment.ts';

/** The providers that an agent's `llm_model` can name: one line each. */
export const modelProviders: Record<string, ModelProvider> = {
  demo,
  openai: openai({
    baseUrl: () => environment('openAiBaseUrl'),
    apiKey: cachedSecret(
      () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
      () => environment('openAiApiKeySecret'),
    ),
  }),
};

/** @throws Error when no provider stands behind an `llm_model` */
export const checkModelName = (llmModel: string): void => {
  findProvider(modelProviders, llmModel);
};
