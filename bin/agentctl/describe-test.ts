import type { AgentTest } from '#contract/agent-test.ts';
import type { ReasoningStep } from '#contract/message.ts';

/** A test of an agent for a person: who has replied, the steps, the text, and what it took. */
export function describeTest({ version, model, reply, provider, milliseconds }: AgentTest): string[] {
  const { reasoning_steps = [], token_usage, error, incomplete } = reply.meta;
  return [
    `${version === null ? 'Draft' : `Version ${version}`}, ${model}`,
    ...reasoning_steps.flatMap(describeStep),
    '',
    ...(reply.content === '' ? [] : [...reply.content.split('\n'), '']),
    ...(error === undefined ? [] : [`Error ${error.code}: ${error.message}`]),
    ...(provider === null ? [] : [`Provider: ${provider}`]),
    ...(incomplete === undefined ? [] : [`Incomplete: ${incomplete}`]),
    `${token_usage?.total_prompt_tokens ?? 0} + ${token_usage?.total_completion_tokens ?? 0} tokens, ` +
      `${token_usage?.total_calls ?? 0} model calls, ${(milliseconds / 1000).toFixed(1)} s`,
  ];
}

const describeStep = ({ type, content, args, result }: ReasoningStep): string[] => [
  '',
  `${type}: ${content}`,
  `  arguments: ${JSON.stringify(args)}`,
  `  ${result?.success === true ? 'result' : 'failed'}: ${JSON.stringify(result?.data ?? null)}`,
];
