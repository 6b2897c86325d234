import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { trimTitle } from '../title.ts';
import { collect } from './http/model-server.ts';
import type { ModelProvider } from './model-provider.ts';

/** The model is loaded at the first call: agents in production usually have others. */
const streamOf = async (options: LanguageModelV4CallOptions) =>
  ReadableStream.from(await (await import('./demo-model.ts')).partsOf(options));

/**
 * A built-in model that needs no network and no key. Equal calls have equal replies. It first calls each tool that the
 * message names, with the JSON object after the name as arguments. A reply without a form says that it is a
 * demonstration; a reply with a form is JSON that fits the schema. Each delta is one word, and a word counts as one
 * token.
 */
export const demo: ModelProvider = {
  needsName: false,
  model: (name) => ({
    specificationVersion: 'v4',
    provider: 'demo',
    modelId: name === '' ? 'demo' : name,
    supportedUrls: {},
    doGenerate: async (options) => collect(await streamOf(options)),
    doStream: async (options) => ({ stream: await streamOf(options) }),
  }),
  seesImages: () => false,
  title: trimTitle,
};
