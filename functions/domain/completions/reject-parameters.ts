import type { ChatCompletionRequest } from '#contract/openai/chat-completion-request.ts';
import { invalidParameter } from '#contract/openai/error.ts';

type Value = unknown;

const isFilled = (value: Value): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;
const isThere = (value: Value): boolean => value !== undefined && value !== false;
const isOfText = (format: Value): boolean => Object(format).type === 'text';
const isOnlyText = (modalities: Value): boolean =>
  Array.isArray(modalities) && modalities.every((modality) => modality === 'text');

const ownTools = 'is not supported: agents bring their own tools, which run here';

/**
 * Parameters that would change what the reply is. Without them the reply would answer another question, so they are
 * rejected, not ignored.
 */
const rejected: readonly [
  param: keyof ChatCompletionRequest,
  isRejected: (value: Value, request: ChatCompletionRequest) => boolean,
  problem: string,
][] = [
  ['tools', isFilled, ownTools],
  ['functions', isFilled, ownTools],
  ['n', (value) => value !== undefined && value !== 1, 'must be 1: an agent gives one reply'],
  ['logprobs', isThere, 'is not supported: a reply may come from several models and tools'],
  ['top_logprobs', isThere, 'is not supported: a reply may come from several models and tools'],
  ['audio', isThere, 'is not supported: agents reply with text'],
  ['modalities', (value) => value !== undefined && !isOnlyText(value), 'may only contain "text"'],
  [
    'response_format',
    (value) => value !== undefined && !isOfText(value),
    'must have the type "text": the agent decides on the form of its reply',
  ],
  ['logit_bias', isFilled, 'is not supported: the tokens of the model behind an agent are not known here'],
  ['web_search_options', isThere, 'is not supported: an agent has a search of its own, or none'],
  ['prediction', isThere, 'is not supported: no model here takes it'],
  ['moderation', isThere, 'is not supported: the reply would not be checked'],
];

/** @throws OpenAiError that names the parameter */
export function rejectParameters(request: ChatCompletionRequest): void {
  for (const [param, isRejected, problem] of rejected)
    if (isRejected(request[param], request)) throw invalidParameter(String(param), problem);
}
