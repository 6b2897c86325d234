import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { trimTitle } from '../title.ts';
import { collect } from './http/model-server.ts';
import type { ModelProvider } from './model-provider.ts';

const streamOf = async (options: LanguageModelV4CallOptions) =>
  ReadableStream.from(await (await import('./demo-model.ts')).partsOf(options));

/** A built-in model that needs no network and no key. Equal calls have equal replies. */
export const demo: ModelProvider = {
  needsName: false,
  model: () => ({
    doGenerate: async (options) => collect(await streamOf(options)),
    doStream: async (options) => ({ stream: await streamOf(options) }),
  }),
  seesImages: () => false,
  title: trimTitle,
};
