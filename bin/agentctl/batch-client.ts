import type { Command } from 'commander';
import type { ChatBatchClient } from '#lib/client/index.ts';
import type { ProgressLine } from './progress-line.ts';
import { findService, type ServiceAddress } from './service-address.ts';
import { openClient } from './service-client.ts';

/** Eight attempts take about two minutes: the pauses double from 1 s to one minute. */
export const batchClient = (service: ServiceAddress, line: ProgressLine): ChatBatchClient =>
  openClient(service, line.log, { maxRetries: 7, waitForRateLimit: true });

export const clientFor = async (command: Command, line: ProgressLine): Promise<ChatBatchClient> =>
  batchClient(await findService(command), line);
