import { Command, Option } from 'commander';
import { summarizeUsage, type UsageGrouping, type UsageLine } from '#domain/workspaces/summarize-usage.ts';
import { usage, workspaces } from '#runtime/composition/services.ts';
import { type Days, rejectOrder, withDays } from './days.ts';
import type { Report } from './result.ts';
import { textTable } from './text-table.ts';

interface UsageOptions extends Days {
  workspace: string;
  by: UsageGrouping;
}

const groupings: readonly UsageGrouping[] = ['day', 'key', 'agent', 'model'];

export function usageCommand(report: Report): Command {
  return withDays(new Command('usage'))
    .description(
      'tell what a workspace has used: turns, requests of batches, calls of models, tokens, uploads',
    )
    .requiredOption('--workspace <workspace>', 'whose usage')
    .addOption(new Option('--by <what>', 'a line for each').choices(groupings).default('day'))
    .addHelpText('after', usageHelp)
    .action(
      report(async ({ workspace, from, to, by }: UsageOptions) => {
        rejectOrder({ from, to });
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
Days are in UTC. A request of a batch counts for the key that the batch was created with, and for the agent that was
asked; the calls and tokens of agents that it asked in turn are in its sum. Turns that failed are among the turns.
Titles of chats are not counted. A function that dies between a reply and its counting leaves it out; the replies in
the history keep their own figures.`;

/** Of a model alone, since a turn may ask several, there are calls and tokens. */
const titlesOf = (by: UsageGrouping): string[] => [
  ...(by === 'model' ? [] : ['turns', 'failed', 'batch', 'failed', 'uploads', 'bytes']),
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
  }),
  model_calls: calls.calls,
  prompt_tokens: calls.promptTokens,
  completion_tokens: calls.completionTokens,
  total_tokens: calls.promptTokens + calls.completionTokens,
});
