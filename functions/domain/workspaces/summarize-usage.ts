import { ServiceError } from '#contract/errors.ts';
import type { WorkspaceServices } from './services.ts';
import {
  type DayOfUsage,
  type ModelUsage,
  noCounts,
  noModelUsage,
  sumOfCounts,
  sumOfModelUsage,
  type UsageCounts,
} from './usage.ts';

export type UsageGrouping = 'day' | 'key' | 'agent' | 'model';

export interface UsageLine {
  /** The day, the key's id, the agent's id (null: no agent), or the model. */
  name: string | null;
  counts: UsageCounts;
  /** Calls of all models; of one model if grouped by model. */
  calls: ModelUsage;
}

/**
 * The usage of a workspace, grouped by day, key, agent or model. Both days are UTC days and included.
 * @throws notFound for an unknown workspace
 */
export const summarizeUsage =
  (services: Pick<WorkspaceServices, 'usage' | 'workspaces'>) =>
  async (input: {
    workspaceId: string;
    from: string;
    to: string;
    by: UsageGrouping;
  }): Promise<{ lines: UsageLine[]; total: UsageLine }> => {
    const { workspaceId, from, to, by } = input;
    if ((await services.workspaces.get(workspaceId)) === undefined)
      throw new ServiceError('notFound', `Workspace ${workspaceId} not found`);
    const lines = new Map<string | null, UsageLine>();
    let total: UsageLine = { name: null, counts: noCounts, calls: noModelUsage };
    for await (const days of services.usage.between(workspaceId, from, to))
      for (const line of days.flatMap((day) => linesOf(day, by))) {
        lines.set(line.name, sum(lines.get(line.name), line));
        total = { ...sum(total, line), name: null };
      }
    return {
      lines: [...lines.values()].toSorted((one, other) => (one.name ?? '').localeCompare(other.name ?? '')),
      total,
    };
  };

function linesOf(day: DayOfUsage, by: UsageGrouping): UsageLine[] {
  if (by === 'model')
    return Object.entries(day.models).map(([name, calls]) => ({ name, counts: noCounts, calls }));
  return [
    {
      name: { day: day.day, key: day.apiKeyId, agent: day.agentId }[by],
      counts: day.counts,
      calls: Object.values(day.models).reduce(sumOfModelUsage, noModelUsage),
    },
  ];
}

const sum = (one: UsageLine | undefined, other: UsageLine): UsageLine =>
  one === undefined
    ? other
    : {
        name: other.name,
        counts: sumOfCounts(one.counts, other.counts),
        calls: sumOfModelUsage(one.calls, other.calls),
      };
