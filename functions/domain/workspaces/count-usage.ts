import type { Services } from '#domain/services.ts';
import { dayOf, type Use } from './usage.ts';

/** Counts what was used today. When that fails, what was used stands all the same: it is logged and not thrown. */
export const countUsage =
  (services: Pick<Services, 'clock' | 'log' | 'meter' | 'usage'>) =>
  async (use: Use): Promise<void> => {
    try {
      await services.usage.add(use, dayOf(services.clock.now()));
    } catch (error) {
      services.meter.usageLost();
      const { apiKeyId, agentId, counts, calls } = use;
      services.log.error('Usage was not counted', { apiKeyId, agentId, ...counts, calls, error });
    }
  };
