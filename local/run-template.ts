import { lockDataFolder } from './data/lock.ts';
import type { RunContext } from './run-context.ts';
import type { DynamoCall, RecordedCall, RunOptions, StartedEmulators } from './run-options.ts';
import { openTemplate } from './template/open-template.ts';
import { readAssembly } from './template/read-assembly.ts';

export type { RunOptions } from './run-options.ts';

export interface RunningTemplate extends StartedEmulators {
  /** What Ref returns, by logical id. */
  readonly physicalIds: Record<string, string>;
  /**
   * Ends busy threads too. A web function is found by the logical id of its revision. Returns how many threads it ends.
   */
  killWorkers(logicalIdPrefix: string): number;
  /** Ends the `count` oldest environments of each web function found by its revision's logical id. Returns how many. */
  shutDownEnvironments(logicalIdPrefix: string, count: number): number;
  workers(): { functionName: string; busy: boolean }[];
  /** What fails or could fail in AWS, such as a denied permission, or a request after the handler has resolved. */
  violations(): string[];
  /** Empty unless `recordCalls` is on. */
  dynamoCalls(): DynamoCall[];
  /** Without calls to DynamoDB. Empty unless `recordCalls` is on. */
  calls(): RecordedCall[];
  close(): Promise<void>;
}

/** @throws UnusableFolder; UnreadableState; UnusablePort; other errors, such as those of `prepare` */
export async function runTemplate(options: RunOptions): Promise<RunningTemplate> {
  const unlock = await lockDataFolder(options.dataDir);
  try {
    await options.prepare?.();
    const assembly = await readAssembly(options.assembly);
    const opened = await openTemplate(options, assembly);
    let closing: Promise<void> | undefined;
    const run = describeRun(opened.context, opened, () => {
      closing ??= opened.close().finally(unlock);
      return closing;
    });
    try {
      await options.beforeServing?.(run);
      opened.context.serving.resolve();
    } catch (error) {
      await opened.close();
      throw error;
    }
    return run;
  } catch (error) {
    await unlock();
    throw error;
  }
}

function describeRun(
  context: RunContext,
  { physicalIds, outputs }: Pick<RunningTemplate, 'physicalIds' | 'outputs'>,
  close: () => Promise<void>,
): RunningTemplate {
  const { dynamodb = '', s3 = '', secretsmanager = '', gateway = '' } = context.endpoints;
  const { front = '', sqs = '', sfn = '', kms = '', lambda = '' } = context.endpoints;
  const pools = () => [...context.functions.values()];
  const servers = () => [...context.webFunctions.values()];
  const withPrefix = <Named extends { readonly logicalId: string }>(all: Named[], prefix: string) =>
    all.filter(({ logicalId }) => logicalId.startsWith(prefix));
  const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
  return {
    url: front || gateway,
    endpoints: { gateway, dynamodb, s3, secretsmanager, sqs, sfn, kms, lambda },
    physicalIds,
    outputs,
    killWorkers: (prefix) =>
      sumOf([
        ...withPrefix(pools(), prefix).map((pool) => pool.killThreads()),
        ...withPrefix(servers(), prefix).map((server) => server.kill()),
      ]),
    shutDownEnvironments: (prefix, count) =>
      sumOf(withPrefix(servers(), prefix).map((server) => server.shutDown(count))),
    workers: () => [
      ...pools().flatMap(({ functionName, threads }) =>
        threads().map(({ busy }) => ({ functionName, busy })),
      ),
      ...servers().flatMap((server) =>
        server.environments().map(({ busy }) => ({ functionName: server.functionName, busy })),
      ),
    ],
    violations: () => [...context.violations],
    dynamoCalls: () => [...context.dynamoCalls],
    calls: () => [...context.calls],
    close,
  };
}
