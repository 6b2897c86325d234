import { Command, InvalidArgumentError, Option } from 'commander';
import type * as z from 'zod';
import { text } from '#contract/fields.ts';
import {
  formatOpenBatches,
  formatRateLimit,
  limitName,
  openBatchesLimit,
  rateClasses,
  rateLimit,
  rateLimitForm,
} from '#contract/rate-limits.ts';
import type { DeletedCounts, Workspace, WorkspaceChanges } from '#domain/workspaces/workspace.ts';
import { createWorkspace, type DeletionProgress, deleteWorkspace } from '#domain/workspaces/workspaces.ts';
import { clock, workspaceDeletion, workspaces } from '#runtime/composition/services.ts';
import { UsageError } from '../failures.ts';
import { operatorServices } from '../operator-services.ts';
import { wholeNumber } from '../whole-number.ts';
import { formatCount, type ProgressLine, progressLine } from './progress-line.ts';
import { operation, type Result } from './report.ts';
import { tableWith } from './text-table.ts';

const onOff = (flags: string, description: string) => new Option(flags, description).choices(['on', 'off']);

type Switches = { [name in 'whitelist' | 'enabled' | 'titles' | 'openai']?: 'on' | 'off' };

interface UpdateOptions extends Switches {
  name?: string;
  limits?: Workspace['limits'];
  retentionDays?: number | 'off';
  limit?: OwnLimits;
}

type OwnLimits = NonNullable<WorkspaceChanges['ownLimits']>;

export function workspaceCommands(): Command {
  const group = new Command('workspaces').description('Tenants: each has its own keys, agents and chats.');
  operation(group, 'create', create)
    .description('create a workspace')
    .requiredOption('--name <name>', 'a name for operators', readName)
    .option('--whitelist', 'only listed external users may chat');
  operation(group, 'update <workspace>', update)
    .description('change a workspace')
    .option('--name <name>', 'another name', readName)
    .addOption(onOff('--whitelist <on|off>', 'only listed external users may chat'))
    .addOption(
      new Option('--limits <limits>', 'none: no limits for its requests and open batches').choices([
        'default',
        'none',
      ]),
    )
    .option(
      '--limit <name=limit>',
      `replaces a limit of the stage, or restores it with "default"; may be repeated. Names: ${limitNames.join(', ')}. ` +
        `A limit applies to each key: ${rateLimitForm}. open-batches applies to the workspace: a number or none`,
      addLimit,
    )
    .addOption(onOff('--enabled <on|off>', 'off: the service rejects every request with 403'))
    .addOption(onOff('--titles <on|off>', 'name chats by their first message'))
    .addOption(
      onOff('--openai <on|off>', 'serve published agents as models to OpenAI clients (docs/openai.md)'),
    )
    .option(
      '--retention-days <days|off>',
      'deletes chats that are unused for so many days, for ever; off (the default): never',
      retentionDays,
    );
  operation(group, 'delete <workspace>', deleteConfirmed)
    .description('delete a workspace with everything that is stored for it')
    .requiredOption('--confirm <name>', "the workspace's name, to confirm that all of it is deleted for ever")
    .addHelpText('after', deleteHelp);
  operation(group, 'get', get).description('show a workspace').argument('<workspace>');
  operation(group, 'list', list).description('list workspaces');
  return group;
}

async function create({ name, whitelist }: { name: string; whitelist?: true }): Promise<Result> {
  const whitelistEnabled = whitelist === true;
  return resultOf(await createWorkspace(operatorServices(), { name, whitelistEnabled, limits: 'default' }));
}

async function update(workspaceId: string, options: UpdateOptions): Promise<Result> {
  const { name, limits, limit, retentionDays } = options;
  const isOn = (value: 'on' | 'off' | undefined) => value && value === 'on';
  const given = {
    name,
    whitelistEnabled: isOn(options.whitelist),
    limits,
    enabled: isOn(options.enabled),
    titlesEnabled: isOn(options.titles),
    openAiEnabled: isOn(options.openai),
    retentionDays: retentionDays === 'off' ? null : retentionDays,
    ownLimits: limit,
  };
  const changes = Object.entries(given).filter(([, value]) => value !== undefined);
  if (changes.length === 0)
    throw new UsageError(
      'Nothing to change: give --name, --whitelist, --limits, --limit, --enabled, --titles, --openai or --retention-days',
    );
  const changed = await workspaces().update(workspaceId, Object.fromEntries(changes));
  return resultOf(found(workspaceId, changed));
}

const deleteHelp = `
Disables the workspace first: the service then rejects its requests. Waits until 20 minutes after that, because functions
that have started may write for so long. Reads the whole table at least twice. If the command is stopped, run it again
with the same arguments. docs/operators.md says what stays.`;

async function deleteConfirmed(workspaceId: string, { confirm }: { confirm: string }): Promise<Result> {
  const { name } = found(workspaceId, await workspaces().get(workspaceId));
  if (confirm !== name)
    throw new Error(`--confirm must be the name of the workspace ${workspaceId}. Nothing was changed`);
  const services = {
    clock,
    workspaceDeletion: workspaceDeletion(),
    workspaceObjects: (await import('#runtime/composition/object-stores.ts')).workspaceObjects(),
  };
  const line = progressLine();
  const show = deletionProgress(line);
  let total: DeletedCounts = { items: 0, objects: 0 };
  const deleted = await deleteWorkspace(services, workspaceId, (progress) => {
    if (progress.type !== 'waiting') total = progress.total;
    show(progress);
  }).catch((error: unknown) => {
    line.log(`Deleted so far: ${describeCounts(total)}. Run the command again: it goes on, and adds up`);
    throw error;
  });
  if (deleted === undefined) throw new Error(`Workspace ${workspaceId} not found`);
  const lines = [`Deleted ${workspaceId}: ${describeCounts(deleted)}`];
  return { json: { id: workspaceId, deleted: true, ...deleted }, lines };
}

const describeCounts = ({ items, objects }: DeletedCounts): string =>
  `${formatCount(items)} items and ${formatCount(objects)} objects`;

/** At least, in milliseconds, between lines about a pass that goes on: over a large table it may take minutes. */
const linesEvery = 10_000;

function deletionProgress({ log }: ProgressLine): (progress: DeletionProgress) => void {
  let lastLine = performance.now();
  return (progress) => {
    if (progress.type === 'waiting')
      return log(`Waiting until ${progress.until.toISOString()}: functions that have started may write`);
    if (progress.type === 'scanning' && performance.now() - lastLine < linesEvery) return;
    lastLine = performance.now();
    const end = progress.type === 'scanned' ? 'has ended' : 'goes on';
    const read = `${formatCount(progress.itemsRead)} items read`;
    log(`Pass ${progress.pass} ${end}: ${read}, ${describeCounts(progress)} deleted`);
  };
}

async function get(workspaceId: string): Promise<Result> {
  return resultOf(found(workspaceId, await workspaces().get(workspaceId)));
}

function found(workspaceId: string, workspace: Workspace | undefined): Workspace {
  if (workspace === undefined) throw new Error(`Workspace ${workspaceId} not found`);
  return workspace;
}

async function list(): Promise<Result> {
  const all = await workspaces().list();
  return { json: { workspaces: all.map(jsonOf) }, lines: tableOf(all, 'No workspaces') };
}

const limitOfName = new Map<string, keyof OwnLimits>([
  ...rateClasses.map((rateClass) => [limitName(rateClass), rateClass] as const),
  ['open-batches', 'openBatches'],
]);
const limitNames = [...limitOfName.keys()];

function addLimit(text: string, previous: OwnLimits = {}): OwnLimits {
  const [, given = '', value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  const name = limitOfName.get(given);
  if (name === undefined)
    throw new InvalidArgumentError(`It must be NAME=LIMIT with one of ${limitNames.join(', ')} as NAME.`);
  const form: z.ZodType = name === 'openBatches' ? openBatchesLimit : rateLimit;
  return { ...previous, [name]: value === 'default' ? 'stage' : valid(form, value) };
}

/** Days of retention. An idempotency key lasts for a day, and a repeated request should find its chat. */
const [minDays, maxDays] = [1, 3650];

const readDays = wholeNumber(
  `off, or whole days from ${minDays} (a repeated request finds its chat for a day) to ${maxDays} (ten years)`,
  minDays,
  maxDays,
);
const retentionDays = (text: string): number | 'off' => (text === 'off' ? text : readDays(text));

function valid<Limit>(schema: z.ZodType<Limit>, value: string): Limit {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(`It ${parsed.error.issues.map(({ message }) => message).join('; it ')}.`);
}

const readName = (name: string): string => valid(text(256), name);

const resultOf = (workspace: Workspace): Result => ({ json: jsonOf(workspace), lines: tableOf([workspace]) });

const jsonOf = (workspace: Workspace) => ({
  id: workspace.id,
  name: workspace.name,
  enabled: workspace.enabled,
  whitelist: workspace.whitelistEnabled,
  titles: workspace.titlesEnabled,
  openai: workspace.openAiEnabled,
  limits: workspace.limits,
  own_limits: ownLimitsOf(workspace),
  retention_days: workspace.retentionDays,
  created_at: workspace.createdAt,
});

function ownLimitsOf({ ownLimits }: Workspace): Record<string, string> {
  const own: Record<string, string> = {};
  for (const name of rateClasses)
    if (ownLimits[name] !== undefined) own[limitName(name)] = formatRateLimit(ownLimits[name]);
  if (ownLimits.openBatches !== undefined) own['open-batches'] = formatOpenBatches(ownLimits.openBatches);
  return own;
}

const onOrOff = (isOn: boolean): string => (isOn ? 'on' : 'off');

const tableOf = tableWith<Workspace>({
  workspace: ({ id }) => id,
  state: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
  whitelist: ({ whitelistEnabled }) => onOrOff(whitelistEnabled),
  titles: ({ titlesEnabled }) => onOrOff(titlesEnabled),
  openai: ({ openAiEnabled }) => onOrOff(openAiEnabled),
  limits: (workspace) =>
    [workspace.limits, ...Object.entries(ownLimitsOf(workspace)).map((own) => own.join('='))].join(' '),
  retention: ({ retentionDays }) => (retentionDays === null ? 'off' : `${retentionDays} days`),
  name: ({ name }) => name,
});
