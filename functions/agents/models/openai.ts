import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { httpFetch } from './http/http-fetch.ts';
import type { ModelProvider } from './model-provider.ts';
import { withoutTools } from './prompt-without-tools.ts';

/**
 * OpenAI's reasoning models reject `max_tokens` and need `max_completion_tokens`. Other servers know only `max_tokens`.
 */
const reasoningModels = /^(gpt-5|o\d)/;

/**
 * OpenAI's models that accept images, according to its documentation. Nothing is known about models of other servers.
 */
const imageModels =
  /^(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4-turbo|gpt-5|o[134])(?!-?(mini-)?(audio|search|transcribe|tts))/;

/**
 * Any server with OpenAI's chat completions API: OpenAI, Azure, vLLM, Ollama, LiteLLM.
 * @param settings.apiKey called before each model call; it must cache the key itself
 */
export function openai(settings: { baseUrl: () => string; apiKey: () => Promise<string> }): ModelProvider {
  return {
    needsName: true,
    seesImages: (name) => imageModels.test(name),
    model(name) {
      const model = createOpenAICompatible({
        name: 'openai',
        baseURL: settings.baseUrl(),
        apiKey: settings.apiKey,
        includeUsage: true,
        fetch: httpFetch,
        transformRequestBody: ({ max_tokens, ...body }) =>
          reasoningModels.test(name)
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
