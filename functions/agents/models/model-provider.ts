import type { LanguageModelV4 } from '@ai-sdk/provider';

/** A source of models. Each provider is one file and one line in runtime/composition/model-providers.ts. */
export interface ModelProvider {
  /** Whether an agent's `llm_model` must name a model after `PROVIDER:`. */
  needsName: boolean;
  /** @param name the text after `PROVIDER:`, possibly empty */
  model(name: string): LanguageModelV4;
  /** Whether the model is known to accept images. An agent's `meta.vision` overrides this. */
  seesImages(name: string): boolean;
  /** Makes a chat's title of at most 60 characters without a model call. */
  title?(message: string): string | undefined;
}

/**
 * Parses an agent's `llm_model`.
 * @throws Error if the provider is unknown, or if it needs a model's name and there is none
 */
export function findProvider(
  providers: Record<string, ModelProvider>,
  llmModel: string,
): { provider: ModelProvider; name: string } {
  const colon = llmModel.indexOf(':');
  const [providerName, name] =
    colon === -1 ? [llmModel, ''] : [llmModel.slice(0, colon), llmModel.slice(colon + 1)];
  const provider = Object.hasOwn(providers, providerName) ? providers[providerName] : undefined;
  if (provider === undefined)
    throw new Error(
      `llm_model names the unknown provider ${providerName}; known are ${Object.keys(providers).join(', ')}`,
    );
  if (provider.needsName && name === '')
    throw new Error(`llm_model names no model: it must be ${providerName}:MODEL`);
  return { provider, name };
}
