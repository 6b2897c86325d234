import type { Command } from 'commander';
import { progressLine } from './progress-line.ts';
import { clientReport, type Result } from './report.ts';
import { findService, withAddress } from './service-address.ts';
import { openClient } from './service-client.ts';

export const clientOperation = <Inputs extends unknown[]>(
  group: Command,
  usage: string,
  work: (...inputs: Inputs) => Promise<Result>,
): Command => withAddress(group.command(usage)).action(clientReport(work));

export type BatchClient = Awaited<ReturnType<typeof openBatchClient>>;

export async function openBatchClient(command: Command) {
  const line = progressLine();
  const service = await findService(command);
  // Unless the service names a time, the waits before seven retries take more than two minutes in all.
  const client = openClient(service, line.log, { maxRetries: 7, waitForRateLimit: true });
  return { line, service, client };
}
