import type { LanguageModelV4 } from '@ai-sdk/provider';

/** Where models come from: one file each, and one line in runtime/composition/model-providers.ts. */
export interface ModelProvider {
  /** Whether an agent's `llm_model` must name a model behind `PROVIDER:`. */
  needsName: boolean;
  /** @param name what stands behind `PROVIDER:`; empty when nothing does. */
  model(name: string): LanguageModelV4;
  /** Whether the model is known to take images; an agent's `meta.vision` says otherwise. */
  seesImages(name: string): boolean;
  /** Makes a chat's title, at most 60 characters, in the place of a model. */
  title?(message: string): string | undefined;
}

/**
 * What an agent's `llm_model` names.
 * @throws Error for an unknown provider, or one that needs a model's name and has none
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
