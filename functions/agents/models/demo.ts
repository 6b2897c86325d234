import { trimTitle } from '../title.ts';
import type { ModelProvider } from './model-provider.ts';

/** Loaded at the first call: agents in production have other models. */
const model = () => import('./demo-model.ts');

/**
 * A built-in model that needs no network and no key. The reply says that it is a demonstration. It depends only on the
 * message, the history and the tools' results, so equal inputs have equal replies. Each delta is one word; a word
 * counts as one token. The model calls each tool that the message names, with the JSON object after the name as
 * arguments. If the reply has a form, it is JSON that fits the schema.
 */
export const demo: ModelProvider = {
  needsName: false,
  model: (name) => ({
    specificationVersion: 'v4',
    provider: 'demo',
    modelId: name === '' ? 'demo' : name,
    supportedUrls: {},
    doGenerate: async (options) => (await model()).generate(options),
    doStream: async (options) => ({ stream: ReadableStream.from(await (await model()).partsOf(options)) }),
  }),
  seesImages: () => false,
  title: trimTitle,
};
