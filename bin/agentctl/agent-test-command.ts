import type { Command } from 'commander';
import type { AgentTest } from '#contract/agent.ts';
import type { ReasoningStep } from '#contract/message.ts';
import { exitCodes } from '../failures.ts';
import { countOf } from './progress-line.ts';
import { operation, type Result } from './report.ts';

export const addAgentTest = (group: Command): Command =>
  operation(group, 'test <agent> <message>', test)
    .description('reply to a message with the draft, in no chat: prints steps, text and usage')
    .option('--published', 'with the published version instead of the draft')
    .addHelpText('after', testHelp);

const testHelp = `
Nothing is stored but the usage, which is counted as a test of the key "operators". The limits of the workspace apply.
The exit code is 1 if the reply ends with an error; the line "Provider" then says how the model's provider has responded.`;

async function test(agentId: string, message: string, { published }: { published?: true }): Promise<Result> {
  // A deferred import: most commands do not need the client of Lambda.
  const { testAgent } = await import('../test-agent.ts');
  const version = published === true ? 'published' : 'draft';
  const tested = await testAgent({ agent_id: agentId, message, version });
  if (tested.reply.meta.error !== undefined) process.exitCode = exitCodes.failure;
  return { json: tested, lines: linesOf(tested) };
}

function linesOf({ version, model, reply, provider, milliseconds }: AgentTest): string[] {
  const { reasoning_steps = [], token_usage, error, incomplete } = reply.meta;
  return [
    `${version === null ? 'Draft' : `Version ${version}`}, ${model}`,
    ...reasoning_steps.flatMap(stepLines),
    '',
    ...(reply.content === '' ? [] : [...reply.content.replaceAll('\t', '    ').split(/\r?\n/), '']),
    ...(error === undefined ? [] : [`Error ${error.code}: ${error.message}`]),
    ...(provider === null ? [] : [`Provider: ${provider}`]),
    ...(incomplete === undefined ? [] : [`Incomplete: ${incomplete}`]),
    `${token_usage?.total_prompt_tokens ?? 0} + ${token_usage?.total_completion_tokens ?? 0} tokens, ` +
      `${countOf(token_usage?.total_calls ?? 0, 'model call')}, ${(milliseconds / 1000).toFixed(1)} s`,
  ];
}

const stepLines = ({ type, content, args, result }: ReasoningStep): string[] => [
  '',
  `${type}: ${content}`,
  `  arguments: ${JSON.stringify(args)}`,
  `  ${result?.success === true ? 'result' : 'failed'}: ${JSON.stringify(result?.data ?? null)}`,
];
