import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { completionRequest } from './completions/completion-request.ts';
import { readCompletion } from './completions/read-completion.ts';
import { withImageTokens } from './http/image-tokens.ts';
import { collect, type ModelServer, postCall } from './http/model-server.ts';
import { type ModelProvider, withoutTools } from './model-provider.ts';

/** Families of OpenAI's models that accept images. */
const imageModels =
  /^(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4-turbo|gpt-5|o[13](?!-mini)|o4)(?!-?(mini-)?(audio|search|transcribe|tts))/;

/** For servers with OpenAI's chat completions API, such as vLLM, Ollama or LiteLLM. */
export const openai = (server: ModelServer): ModelProvider => ({
  needsName: true,
  seesImages: (name) => imageModels.test(name),
  model(name) {
    const send = async (call: LanguageModelV4CallOptions, form: object) => {
      const { options, images } = withImageTokens(withoutTools(call));
      const request = { ...completionRequest(name, options), ...form };
      const body = await postCall(server, '/chat/completions', request, { images, signal: call.abortSignal });
      return readCompletion(body, (kind, count) => server.onSkipped(name, kind, count));
    };
    return {
      doGenerate: async (call) => collect(await send(call, {})),
      doStream: async (call) => ({
        stream: await send(call, { stream: true, stream_options: { include_usage: true } }),
      }),
    };
  },
});
