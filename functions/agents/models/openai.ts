import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { joinTexts } from '../conversation.ts';
import { httpFetch } from './http/http-fetch.ts';
import { type Images, withImages, withImageTokens } from './http/image-tokens.ts';
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
      const baseURL = settings.baseUrl();
      /** A model for one call, because its `fetch` must know the call's images. It takes 0.4 ms to make. */
      const modelWith = (images: Images) =>
        createOpenAICompatible({
          name: 'openai',
          baseURL,
          apiKey: settings.apiKey,
          includeUsage: true,
          fetch: (input, init) => httpFetch(input, withImages(images, init)),
          transformRequestBody: ({ max_tokens, ...body }) =>
            reasoningModels.test(name)
              ? { ...body, max_completion_tokens: max_tokens }
              : { ...body, max_tokens },
        }).chatModel(name);
      const withoutImages = modelWith(new Map());
      const prepared = (call: LanguageModelV4CallOptions) => {
        const { options, images } = withImageTokens(withJoinedTexts(withoutTools(call)));
        return { options, model: images.size === 0 ? withoutImages : modelWith(images) };
      };
      return {
        specificationVersion: 'v4',
        provider: withoutImages.provider,
        modelId: name,
        supportedUrls: withoutImages.supportedUrls,
        async doGenerate(call) {
          const { options, model } = prepared(call);
          return model.doGenerate(options);
        },
        async doStream(call) {
          const { options, model } = prepared(call);
          return model.doStream(options);
        },
      };
    },
  };
}

/** The SDK sends content of one text as a string, and any other content as an array. Strict servers reject arrays. */
const withJoinedTexts = (options: LanguageModelV4CallOptions): LanguageModelV4CallOptions => ({
  ...options,
  prompt: options.prompt.map((message) =>
    message.role === 'user' ? { ...message, content: joinTexts(message.content) } : message,
  ),
});
