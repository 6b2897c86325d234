import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { ModelProvider } from './model-provider.ts';

/**
 * Anything that speaks OpenAI's chat completions: OpenAI, Azure, vLLM, Ollama, LiteLLM.
 * @param apiKey asked for before each call; whoever passes it caches it.
 */
export function openai(settings: { baseUrl: () => string; apiKey: () => Promise<string> }): ModelProvider {
  return {
    model(name) {
      if (name === '') throw new Error('llm_model names no model: it must be openai:MODEL');
      return createOpenAICompatible({
        name: 'openai',
        baseURL: settings.baseUrl(),
        apiKey: settings.apiKey,
        includeUsage: true,
      }).chatModel(name);
    },
  };
}
