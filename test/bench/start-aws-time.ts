import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { awsTime } from '#local/dynamodb/aws-time.ts';
import { type RunningTemplate, runTemplate } from '#local/run-template.ts';
import { compileCacheOf } from '#support/compile-cache.ts';
import { synthesize } from '../../bin/local/synthesize.ts';
import { useLocalTable } from '../../bin/operator.ts';

/**
 * Starts the stack with a new data folder, records its calls of DynamoDB, and points the stores of this process at it.
 * @param slower factor of the latencies of DynamoDB in AWS. With 10, this machine's processor is no limit.
 */
export async function startAwsTime(
  settings: Record<string, unknown>,
  slower: number,
): Promise<Pick<RunningTemplate, 'close' | 'dynamoCalls' | 'url'>> {
  const { read, write, transaction } = awsTime.latency;
  const folder = await mkdtemp(join(tmpdir(), 'aws-time-'));
  const assembly = join(folder, 'assembly');
  await synthesize(assembly, settings);
  const run = await runTemplate({
    assembly,
    compileCacheFolder: compileCacheOf(assembly),
    dataDir: join(folder, 'data'),
    port: 0,
    recordCalls: true,
    faults: {
      ...awsTime,
      latency: { read: read * slower, write: write * slower, transaction: transaction * slower },
    },
  });
  useLocalTable(run.outputs.DataTableName ?? '', run.endpoints.dynamodb);
  return {
    ...run,
    async close() {
      await run.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
