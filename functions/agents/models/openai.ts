import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { httpFetch } from './http-fetch.ts';
import type { ModelProvider } from './model-provider.ts';
import { withoutTools } from './prompt-without-tools.ts';

/** OpenAI's reasoning models refuse `max_tokens`, while other servers know nothing else. */
const wantsCompletionTokens = /^(gpt-5|o\d)/;

/** Of OpenAI's own models those that take images, by their documentation; of others nothing is known. */
const sees =
  /^(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4-turbo|gpt-5|o[134])(?!-?(mini-)?(audio|search|transcribe|tts))/;

/**
 * Anything that speaks OpenAI's chat completions: OpenAI, Azure, vLLM, Ollama, LiteLLM.
 * @param apiKey asked for before each call; whoever passes it caches it.
 */
export function openai(settings: { baseUrl: () => string; apiKey: () => Promise<string> }): ModelProvider {
  return {
    needsName: true,
    seesImages: (name) => sees.test(name),
    model(name) {
      const model = createOpenAICompatible({
        name: 'openai',
        baseURL: settings.baseUrl(),
        apiKey: settings.apiKey,
        includeUsage: true,
        fetch: httpFetch,
        transformRequestBody: ({ max_tokens, ...body }) =>
          wantsCompletionTokens.test(name)
            ? { ...body, max_completion_tokens: max_tokens }
            : { ...body, max_tokens },
      }).chatModel(name);
      return {
        specificationVersion: 'v4',
        provider: model.provider,
        modelId: name,
        supportedUrls: model.supportedUrls,
        doGenerate: (options) => model.doGenerate(withoutTools(options)),
        doStream: (options) => model.doStream(withoutTools(options)),
      };
    },
  };
}
