import type { Services } from './services.ts';
import { dayOf, type Use } from './usage.ts';

/** Adds to today's usage. A failure is logged with the usage and not thrown: the work itself has succeeded. */
export async function countUsage(
  services: Services<'clock' | 'log' | 'meter' | 'usage'>,
  use: Use,
): Promise<void> {
  try {
    await services.usage.add(use, dayOf(services.clock.now()));
  } catch (error) {
    services.meter.usageNotCounted();
    const { apiKeyId, agentId, counts, calls } = use;
    services.log.error('Usage was not counted', { apiKeyId, agentId, ...counts, calls, error });
  }
}
