import type { PlatformServices } from '#domain/platform/services.ts';
import type { WorkspaceServices } from './services.ts';
import { dayOf, type Use } from './usage.ts';

/** Counts what was used today. When that fails, what was used stands all the same: it is logged and not thrown. */
export const countUsage =
  (services: Pick<WorkspaceServices, 'usage'> & Pick<PlatformServices, 'clock' | 'log' | 'meter'>) =>
  async (use: Use): Promise<void> => {
    try {
      await services.usage.add(use, dayOf(services.clock.now()));
    } catch (error) {
      services.meter.usageNotCounted();
      const { apiKeyId, agentId, counts, calls } = use;
      services.log.error('Usage was not counted', { apiKeyId, agentId, ...counts, calls, error });
    }
  };
