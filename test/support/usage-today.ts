import { summarizeUsage, type UsageGrouping } from '#domain/workspaces/count-usage.ts';
import type { ModelUsage } from '#domain/workspaces/usage.ts';
import { prices, usage, workspaces } from '#runtime/composition/services.ts';

/** Today, as usage has it. */
export const today = new Date().toISOString().slice(0, 10);

/** What `agentctl usage` reads: a process for every read would take most of a test's time. */
export const summarize = (query: { workspaceId?: string; by: UsageGrouping; from?: string; to?: string }) =>
  summarizeUsage(
    { prices: prices(), usage: usage(), workspaces: workspaces() },
    { from: today, to: today, ...query },
  );

/** Today's calls of models in a workspace, by the model. */
export async function modelsUsedIn(workspaceId: string): Promise<Record<string, ModelUsage>> {
  const { lines } = await summarize({ workspaceId, by: 'model' });
  return Object.fromEntries(lines.map(({ name, calls }) => [name ?? 'none', calls]));
}
