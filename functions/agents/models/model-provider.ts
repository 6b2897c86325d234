import type { LanguageModelV4 } from '@ai-sdk/provider';

/** Where models come from: one file each, and one line in model-providers.ts. */
export interface ModelProvider {
  /** @param name what stands behind `PROVIDER:` in an agent's `llm_model`; empty when nothing does. */
  model(name: string): LanguageModelV4;
  /** A chat's title, at most 60 characters, made from its first message. */
  title?(message: string): string;
}
