import { ServiceError } from '#contract/errors.ts';
import { allEnded } from '#domain/platform/all-ended.ts';
import { sumOf } from '#domain/platform/model-usage.ts';
import type { Services } from './services.ts';
import { type DayOfUsage, type ModelUsage, noCounts, noModelUsage, type UsageCounts } from './usage.ts';

export type UsageGrouping = 'day' | 'workspace' | 'key' | 'agent' | 'model';

export interface UsageLine {
  /** The day, the id of the workspace or the key, the agent's id (null: no agent), or the model. */
  name: string | null;
  counts: UsageCounts;
  /** Calls of all models; of one model if grouped by model. */
  calls: ModelUsage;
}

/** Each is a query or more. */
const workspacesAtOnce = 10;

/**
 * The usage of a workspace or of all, grouped by day, workspace, key, agent or model. Both days are UTC days and included.
 * @param input without a workspace, the usage of all
 * @throws notFound for an unknown workspace
 */
export async function summarizeUsage(
  services: Services<'usage' | 'workspaces'>,
  input: { workspaceId?: string | undefined; from: string; to: string; by: UsageGrouping },
): Promise<{ lines: UsageLine[]; total: UsageLine }> {
  const ids = await workspacesOf(services, input.workspaceId);
  const lines = new Map<string | null, UsageLine>();
  let total: UsageLine = { name: null, counts: noCounts, calls: noModelUsage };
  for (let first = 0; first < ids.length; first += workspacesAtOnce) {
    const group = ids.slice(first, first + workspacesAtOnce);
    const found = await allEnded(group.map((id) => usageOf(services, id, input)));
    for (const line of found.flat()) {
      lines.set(line.name, sum(lines.get(line.name), line));
      total = { ...sum(total, line), name: null };
    }
  }
  return {
    lines: [...lines.values()].toSorted((one, other) => (one.name ?? '').localeCompare(other.name ?? '')),
    total,
  };
}

async function workspacesOf(
  { workspaces }: Services<'workspaces'>,
  workspaceId: string | undefined,
): Promise<string[]> {
  if (workspaceId === undefined) return (await workspaces.list()).map(({ id }) => id);
  if ((await workspaces.get(workspaceId)) === undefined)
    throw new ServiceError('notFound', `Workspace ${workspaceId} not found`);
  return [workspaceId];
}

async function usageOf(
  { usage }: Services<'usage'>,
  workspaceId: string,
  { from, to, by }: { from: string; to: string; by: UsageGrouping },
): Promise<UsageLine[]> {
  const lines = new Map<string | null, UsageLine>();
  for await (const days of usage.between(workspaceId, from, to))
    for (const line of days.flatMap((day) => linesOf(day, by)))
      lines.set(line.name, sum(lines.get(line.name), line));
  return [...lines.values()];
}

function linesOf(day: DayOfUsage, by: UsageGrouping): UsageLine[] {
  if (by === 'model')
    return Object.entries(day.models).map(([name, calls]) => ({ name, counts: noCounts, calls }));
  return [
    {
      name: { day: day.day, workspace: day.workspaceId, key: day.apiKeyId, agent: day.agentId }[by],
      counts: day.counts,
      calls: Object.values(day.models).reduce(sumOf, noModelUsage),
    },
  ];
}

const sum = (one: UsageLine | undefined, other: UsageLine): UsageLine =>
  one === undefined
    ? other
    : { name: other.name, counts: sumOf(one.counts, other.counts), calls: sumOf(one.calls, other.calls) };
