import { Command, Option } from 'commander';
import { summarizeUsage, type UsageGrouping, type UsageLine } from '#domain/workspaces/summarize-usage.ts';
import { usage, workspaces } from '#runtime/composition/services.ts';
import { checkOrder, type Days, withDays } from './days.ts';
import type { Report } from './result.ts';
import { textTable } from './text-table.ts';

interface UsageOptions extends Days {
  workspace: string;
  by: UsageGrouping;
}

const groupings: readonly UsageGrouping[] = ['day', 'key', 'agent', 'model'];

export function usageCommand(report: Report): Command {
  return withDays(new Command('usage'))
    .description('show the usage of a workspace: turns, batch requests, model calls, tokens, uploads, tests')
    .requiredOption('--workspace <workspace>', 'whose usage')
    .addOption(new Option('--by <what>', 'one line for each').choices(groupings).default('day'))
    .addHelpText('after', usageHelp)
    .action(
      report(async ({ workspace, from, to, by }: UsageOptions) => {
        checkOrder({ from, to });
        const services = { usage: usage(), workspaces: workspaces() };
        const { lines, total } = await summarizeUsage(services)({ workspaceId: workspace, from, to, by });
        return {
          json: {
            workspace_id: workspace,
            from,
            to,
            by,
            usage: lines.map((line) => ({ [by]: line.name, ...figuresOf(line, by) })),
            total: figuresOf(total, by),
          },
          lines:
            lines.length === 0
              ? [`Nothing was used from ${from} to ${to}`]
              : textTable(
                  [by, ...titlesOf(by)],
                  [
                    ...lines.map((line) => [line.name ?? '(none)', ...Object.values(figuresOf(line, by))]),
                    ['total', ...Object.values(figuresOf(total, by))],
                  ],
                ),
        };
      }),
    );
}

const usageHelp = `
Days are in UTC. A batch request counts for the key that created the batch, and for the agent of the batch. The model
calls and tokens of other agents that this agent calls are included. The number of turns includes failed turns. Tests
are those of agentctl agents test, which count for the key "operators". Titles
of chats are not counted. If a function crashes after a reply and before it counts the reply, the usage does not
include the reply. Each reply in the history has its own figures.`;

/** By model there are only calls and tokens, because one turn may call several models. */
const titlesOf = (by: UsageGrouping): string[] => [
  ...(by === 'model' ? [] : ['turns', 'failed', 'batch', 'failed', 'uploads', 'bytes', 'tests', 'failed']),
  'calls',
  'prompt',
  'completion',
  'tokens',
];

const figuresOf = ({ counts, calls }: UsageLine, by: UsageGrouping): Record<string, number> => ({
  ...(by !== 'model' && {
    turns: counts.turns,
    failed_turns: counts.failedTurns,
    batch_requests: counts.batchRequests,
    failed_batch_requests: counts.failedBatchRequests,
    uploads: counts.uploads,
    uploaded_bytes: counts.uploadedBytes,
    tests: counts.tests,
    failed_tests: counts.failedTests,
  }),
  model_calls: calls.calls,
  prompt_tokens: calls.promptTokens,
  completion_tokens: calls.completionTokens,
  total_tokens: calls.promptTokens + calls.completionTokens,
});
