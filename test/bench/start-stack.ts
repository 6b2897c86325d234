import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { awsTime, type DynamoCall } from '#local/run-options.ts';
import { type RunningTemplate, runTemplate } from '#local/run-template.ts';
import { compileCacheOf } from '#support/compile-cache.ts';
import { createTenant } from '#support/service.ts';
import { synthesize } from '../../bin/local/synthesize.ts';
import { useLocalTable } from '../../bin/operator.ts';
import { type LoadClient, loadClientOf } from './load-client.ts';
import { sumOf } from './statistics.ts';

interface StackOptions {
  /** Settings of the stage that replace those of cdk.json. */
  settings?: Record<string, unknown>;
  /** The address of a provider. */
  model?: string;
  /** The most of each function. */
  threads?: number;
  /** DynamoDB has the latencies of AWS times this factor. With 10, this machine's processor is no limit. */
  slower?: number;
}

export interface Stack extends RunningTemplate {
  assembly: string;
  /** A client of a new workspace. It closes with the stack. */
  newClient(): Promise<LoadClient>;
}

/**
 * Runs the stack in this process with a new data folder, records its calls of DynamoDB, and points the stores of this
 * process at it.
 */
export async function startStack({ settings = {}, model, threads, slower }: StackOptions): Promise<Stack> {
  const folder = await mkdtemp(join(tmpdir(), 'service-bench-'));
  const assembly = join(folder, 'assembly');
  await synthesize(assembly, settings);
  const slow = (milliseconds: number): number => milliseconds * (slower ?? 0);
  const { read, write, transaction } = awsTime.latency;
  const latency = { read: slow(read), write: slow(write), transaction: slow(transaction) };
  const run = await runTemplate({
    ...{ assembly, compileCacheFolder: compileCacheOf(assembly), dataDir: join(folder, 'data') },
    ...{ port: 0, recordCalls: true, ...(threads !== undefined && { maxConcurrency: threads }) },
    ...(model !== undefined && { environment: { OPENAI_BASE_URL: model, OPENAI_API_KEY: 'bench' } }),
    ...(slower !== undefined && { faults: { ...awsTime, latency } }),
  });
  useLocalTable(run.outputs.DataTableName ?? '', run.endpoints.dynamodb);
  const clients: LoadClient[] = [];
  return {
    ...run,
    assembly,
    async newClient() {
      const { apiKey, agentId } = await createTenant({ model: 'openai:scripted' });
      const client = loadClientOf({ baseUrl: `${run.url}/v1`, apiKey, agentId });
      clients.push(client);
      return client;
    },
    async close() {
      for (const client of clients) client.close();
      await run.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The write units of calls for each of so many requests, of calls that succeeded and of calls that failed. */
export function writeUnitsEach(
  calls: readonly DynamoCall[],
  count: number,
): { succeeded: number; failed: number } {
  const [succeeded = [], failed = []] = [true, false].map((isSuccess) =>
    calls.filter(({ status }) => (status === 200) === isSuccess),
  );
  const unitsOf = (some: readonly DynamoCall[]) => sumOf(some, ({ consumed }) => consumed.writeUnits) / count;
  return { succeeded: unitsOf(succeeded), failed: unitsOf(failed) };
}
