import { Command, Option } from 'commander';
import { inSnakeCase } from '#domain/platform/services.ts';
import { summarizeUsage, type UsageGrouping, type UsageLine } from '#domain/workspaces/count-usage.ts';
import { formatCost } from '#domain/workspaces/usage.ts';
import { prices, usage, workspaces } from '#runtime/composition/services.ts';
import { checkOrder, type Days, withDays } from './days.ts';
import { type Result, report } from './report.ts';
import { textTable } from './text-table.ts';

interface UsageOptions extends Days {
  workspace?: string;
  by?: UsageGrouping;
}

const groupings: Readonly<Record<UsageGrouping, string>> = {
  ...{ day: 'day', workspace: 'workspace_id', key: 'key_id', agent: 'agent_id', model: 'model' },
};

export function usageCommand(): Command {
  const by = new Option('--by <what>', 'one line for each; by default day, or workspace for all workspaces');
  return withDays(new Command('usage'))
    .description('show the usage: turns, batch requests, model calls, tokens, costs, uploads, tests')
    .option('--workspace <workspace>', 'whose usage; by default that of all workspaces')
    .addOption(by.choices(Object.keys(groupings)))
    .addHelpText('after', usageHelp)
    .action(report(showUsage));
}

async function showUsage({ workspace, from, to, ...options }: UsageOptions): Promise<Result> {
  checkOrder({ from, to });
  const { by = workspace === undefined ? 'workspace' : 'day' } = options;
  const services = { prices: prices(), usage: usage(), workspaces: workspaces() };
  const { lines, total } = await summarizeUsage(services, { workspaceId: workspace, from, to, by });
  const titles = [by, ...(by === 'model' ? [] : countTitles), ...callTitles];
  const cellsOf = (line: UsageLine) => [
    ...[line.name ?? '(none)', ...Object.values(figuresOf(line, by))],
    costOf(line, 4) ?? '–',
  ];
  const cells = [...lines, { ...total, name: 'total' }].map(cellsOf);
  return {
    json: {
      workspace_id: workspace ?? null,
      from,
      to,
      by,
      usage: lines.map((line) => ({ [groupings[by]]: line.name, ...jsonOf(line, by) })),
      total: jsonOf(total, by),
    },
    lines:
      lines.length === 0
        ? [`Nothing was used from ${from} to ${to}`]
        : [...textTable(titles, cells), ...unpricedLines(total)],
  };
}

const usageHelp = `
Days are in UTC. A batch request counts for the key that created the batch, and for the agent of the batch. The model
calls and tokens of other agents that this agent calls are included. The number of turns includes failed turns. Tests
are those of agentctl agents test, which count for the key "operators". The
tokens of prompts include those that the provider has read from its cache, which are shown once more. The calls for titles
of chats are included. If a function crashes after a reply and before it counts the reply, the usage does not
include the reply. Each reply in the history has its own figures. Dollars are computed from the tokens and prices of each
day (agentctl prices). They are unknown (–) if a model had no price on the day of a call.`;

const countTitles = ['turns', 'failed', 'batch', 'failed', 'uploads', 'bytes', 'tests', 'failed'];
const callTitles = ['calls', 'prompt', 'cached', 'completion', 'tokens', 'dollars'];

const costOf = ({ cost, unpriced }: UsageLine, decimals?: number): string | null =>
  unpriced.size > 0 ? null : formatCost(cost, decimals);

const unpricedLines = ({ unpriced }: UsageLine): string[] =>
  unpriced.size === 0 ? [] : [`Without a price on a day of their calls: ${[...unpriced].join(', ')}`];

const jsonOf = (line: UsageLine, by: UsageGrouping) => ({
  ...figuresOf(line, by),
  cost_usd: costOf(line),
  unpriced_models: [...line.unpriced],
});

/** By model, `counts` are left out: they are of no single model. */
const figuresOf = ({ counts, calls }: UsageLine, by: UsageGrouping): Record<string, number> => ({
  ...(by !== 'model' && inSnakeCase<number>(counts)),
  model_calls: calls.calls,
  prompt_tokens: calls.promptTokens,
  cached_prompt_tokens: calls.cachedTokens,
  completion_tokens: calls.completionTokens,
  total_tokens: calls.promptTokens + calls.completionTokens,
});
