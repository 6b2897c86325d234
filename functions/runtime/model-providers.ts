import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { cachedSecret } from '#adapters/cached-secret.ts';
import { demo } from '#agents/models/demo.ts';
import type { ModelProvider } from '#agents/models/model-provider.ts';
import { openai } from '#agents/models/openai.ts';
import { environment } from './environment.ts';

/** The providers that an agent's `llm_model` can name: one line each. */
export const modelProviders: Record<string, ModelProvider> = {
  demo,
  openai: openai({
    baseUrl: () => environment('openAiBaseUrl'),
    apiKey: cachedSecret(
      () => new SecretsManagerClient(),
      () => environment('openAiApiKeySecret'),
    ),
  }),
};
