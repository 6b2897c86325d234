import { Command, InvalidArgumentError, Option } from 'commander';
import {
  type BatchResultStatus,
  type BatchStatus,
  batchResultStatuses,
  batchStatuses,
  type WebhookEvent,
  webhookEvents,
} from '#contract/batch-statuses.ts';
import { limits } from '#contract/limits.ts';
import type { Batch, ChatBatchClient } from '#lib/client/index.ts';
import { UsageError } from '../failures.ts';
import { downloadResults } from './download-results.ts';
import { formatBatches, formatCount, progressLine } from './progress-line.ts';
import { batchesResult, batchListResult, downloadResult, submissionResult } from './report-batches.ts';
import type { Report, Result } from './result.ts';
import { agentOf, findService, type ServiceAddress, withAddress } from './service-address.ts';
import { openClient } from './service-client.ts';
import { submitFile } from './submit-file.ts';
import { countRequests, hasEnded, readBatches, watchBatches } from './watch-batches.ts';

interface SubmitOptions {
  agent?: string;
  webhookUrl?: string;
  webhookSecret?: string;
  webhookEvents?: WebhookEvent[];
  wait?: true;
  again?: true;
}

/** The commands `batch …`, which act as a client of the service. */
export function batchCommands(report: Report): Command {
  const group = new Command('batch').description(
    'Batches, as a client: many messages that agents reply to in the background.',
  );
  withAddress(group.command('submit'))
    .description('submit a file of requests, one JSON object per line, as batches of up to 1000')
    .argument('<file.jsonl>')
    .option('--agent <agent>', 'the agent that replies; by default the demo agent of a local run')
    .option('--webhook-url <url>', 'an HTTPS address that the service calls when a batch ends')
    .option(
      '--webhook-secret <secret>',
      'the secret that signs the calls; by default AGENT_SERVICE_WEBHOOK_SECRET',
    )
    .option('--webhook-events <events>', `some of ${webhookEvents.join(',')}`, readEvents)
    .option('--wait', 'wait until every batch has ended; exit code 1 unless all are completed')
    .option('--again', 'submit the whole file again, including lines that an earlier run has submitted')
    .addHelpText('after', submitHelp)
    .action(report(submit));
  withAddress(group.command('list'))
    .description('list the batches of the workspace, newest first')
    .option('--limit <number>', 'how many batches', readLimit, 20)
    .addOption(new Option('--status <status>', 'only batches in this state').choices(batchStatuses))
    .action(report(list));
  withAddress(group.command('status'))
    .description('show the progress of batches')
    .argument('<batch...>')
    .option('--watch', 'repeat until every batch has ended; exit code 1 unless all have completed')
    .action(
      report(async (batchIds: string[], options: { watch?: true }, command: Command) => {
        const client = await clientFor(command);
        return options.watch === true
          ? watch(client, batchIds)
          : batchesResult(await readBatches(client, batchIds));
      }),
    );
  withAddress(group.command('cancel'))
    .description('cancel a batch: requests that have not started fail with 499, those in work are completed')
    .argument('<batch>')
    .action(
      report(async (batchId: string, _: object, command: Command) =>
        batchesResult([await (await clientFor(command)).batches.cancel(batchId)]),
      ),
    );
  withAddress(group.command('results'))
    .description(
      'write the results of batches to a file, one JSON object per line, in the order of the requests',
    )
    .argument('<batch...>')
    .requiredOption('--out <file.jsonl>', 'the file; it appears when it is complete')
    .addOption(new Option('--status <status>', 'only results in this state').choices(batchResultStatuses))
    .addHelpText(
      'after',
      '\nIf a batch has not ended, the file has only its results so far, and the command says so.',
    )
    .action(report(results));
  return group;
}

const submitHelp = `
Each line is a request as in POST /batches. Only message is required:
  {"message":"What is a lease?"}
  {"custom_id":"q2","message":"Who renews it?","external_user_id":"ada"}
The default of custom_id is line-<n>. Blank lines are skipped. A wrong line stops the submission before any line of its
batch is sent; the error message names the line.

The journal FILE.jsonl.submission records which batches the service has accepted. After an interruption the same
command continues after them. It sends the batch that was in transit again with the same Idempotency-Key, so no request
is submitted twice. After 23 hours, or if the lines have changed, it first searches for that batch in the workspace.`;

function readEvents(text: string): WebhookEvent[] {
  const events = text.split(',').map((event) => event.trim());
  const isEvent = (event: string): event is WebhookEvent =>
    (webhookEvents as readonly string[]).includes(event);
  if (!events.every(isEvent)) throw new InvalidArgumentError(`Events are ${webhookEvents.join(', ')}.`);
  return events;
}

function readLimit(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999999.');
  return Number(text);
}

const line = progressLine();

const clientFor = async (command: Command): Promise<ChatBatchClient> => clientOf(await findService(command));

/** Eight attempts take about two minutes: the pauses double from 1 s to one minute. */
const clientOf = (service: ServiceAddress): ChatBatchClient =>
  openClient(service, line.log, { maxRetries: 7, waitForRateLimit: true });

async function list(
  { limit, status }: { limit: number; status?: BatchStatus },
  command: Command,
): Promise<Result> {
  const client = await clientFor(command);
  const query = { limit: Math.min(limit, limits.pageSizeMax), ...(status !== undefined && { status }) };
  const page = await client.batches.list(query);
  const batches: Batch[] = [];
  for await (const batch of page) if (batches.push(batch) === limit) break;
  return batchListResult(batches, page.pagination.total_records);
}

async function submit(file: string, options: SubmitOptions, command: Command): Promise<Result> {
  const service = await findService(command);
  const client = clientOf(service);
  const submitted = await submitFile(client, {
    file,
    submission: {
      service: service.identity,
      agent_id: agentOf(options.agent, service),
      webhook: webhookOf(options),
    },
    webhookSecret: options.webhookSecret ?? (process.env.AGENT_SERVICE_WEBHOOK_SECRET || undefined),
    restart: options.again === true,
    log: line.log,
    onProgress({ requests, batches, ...position }) {
      const counted = `${formatCount(requests)} requests in ${formatBatches(batches)}`;
      line.show({ ...position, counted, count: requests });
    },
  }).finally(line.clear);
  const submission = submissionResult(file, submitted);
  if (options.wait !== true) return submission;
  const batchIds = submitted.batches.map(({ batchId }) => batchId);
  return withSubmission(submission, await watch(client, batchIds));
}

const withSubmission = (submission: Result, watched: Result): Result => ({
  json: { ...(submission.json as object), ...(watched.json as object) },
  lines: [...submission.lines, ...watched.lines],
});

function webhookOf({ webhookUrl, webhookEvents: events, webhookSecret }: SubmitOptions) {
  if (webhookUrl === undefined && (events ?? webhookSecret) !== undefined)
    throw new UsageError('--webhook-secret and --webhook-events need --webhook-url');
  return webhookUrl === undefined ? null : { url: webhookUrl, ...(events !== undefined && { events }) };
}

async function watch(client: ChatBatchClient, batchIds: readonly string[]): Promise<Result> {
  const watchLine = progressLine();
  let endedBefore: number | undefined;
  const batches = await watchBatches(client, batchIds, (soFar) => {
    const { ended, total, failed } = countRequests(soFar);
    endedBefore ??= ended;
    const open = soFar.filter((batch) => !hasEnded(batch)).length;
    const counted = [
      `${formatCount(ended)} of ${formatCount(total)} requests`,
      ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
      ...(soFar.length > 1 ? [`${formatBatches(open)} open`] : []),
    ].join(', ');
    watchLine.show({ done: ended, total, from: endedBefore, counted, count: ended - endedBefore });
  }).finally(watchLine.clear);
  if (batches.some(({ status }) => status !== 'completed')) process.exitCode = 1;
  return batchesResult(batches);
}

async function results(
  batchIds: string[],
  { out, status }: { out: string; status?: BatchResultStatus },
  command: Command,
): Promise<Result> {
  const client = await clientFor(command);
  const batches = await readBatches(client, batchIds);
  const { total, completed, failed } = countRequests(batches);
  const expected = status === 'success' ? completed : status === 'failed' ? failed : total;
  const counts = await downloadResults(client, batches, {
    out,
    status,
    log: line.log,
    onProgress: (count) =>
      line.show({
        done: count,
        total: expected,
        from: 0,
        counted: `${formatCount(count)} results`,
        count,
      }),
  }).finally(line.clear);
  return downloadResult(out, batches, counts);
}
