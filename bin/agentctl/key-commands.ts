import { Command, InvalidArgumentError, Option } from 'commander';
import { type ApiKey, isUsable } from '#domain/workspaces/api-key.ts';
import { createApiKey, rotateApiKey } from '#domain/workspaces/api-keys.ts';
import { apiKeys, clock } from '#runtime/composition/services.ts';
import { operatorServices } from '../operator-services.ts';
import { operation, type Result } from './report.ts';
import { tableWith } from './text-table.ts';

export function keyCommands(): Command {
  const group = new Command('keys').description('API keys of a workspace.');
  operation(group, 'create', create)
    .description('create a key; it is shown only once')
    .requiredOption('--workspace <workspace>', 'whose key it is')
    .option('--name <name>', 'a name for operators')
    .option(
      '--expires <date>',
      'when it stops working, such as 2027-01-31 or 2027-01-31T12:00:00Z',
      readDate,
    );
  operation(group, 'rotate <key-id>', rotate)
    .description('create a key that replaces another; the old key stays valid for a while')
    .addOption(
      new Option('--overlap <time>', 'how long the old key stays valid, such as 30m, 24h or 7d')
        .argParser(readTime)
        .default(readTime('24h'), '24h'),
    )
    .option('--expires <date>', 'when the new key stops working; by default never', readDate);
  operation(group, 'list', list)
    .description('list the keys of a workspace')
    .requiredOption('--workspace <workspace>', 'whose keys');
  operation(group, 'revoke <key-id>', revoke).description(
    'revoke a key; the service rejects it after the authorizer’s cache time at the latest',
  );
  return group;
}

interface CreateOptions {
  workspace: string;
  name?: string;
  expires?: Date;
}

async function create({ workspace: workspaceId, name, expires }: CreateOptions): Promise<Result> {
  const created = { workspaceId, name: name ?? null, expiresAt: expires ?? null };
  const { key, apiKey } = await createApiKey(operatorServices(), created);
  return { json: { id: key.id, api_key: apiKey }, lines: linesOfNew(key, apiKey) };
}

async function rotate(keyId: string, options: { overlap: number; expires?: Date }): Promise<Result> {
  const { overlap, expires } = options;
  const rotated = { keyId, overlap, expiresAt: expires ?? null };
  const { key, apiKey, old } = await rotateApiKey(operatorServices(), rotated);
  return {
    json: { id: key.id, api_key: apiKey, old: jsonOf(old) },
    lines: [...linesOfNew(key, apiKey), `Old key  ${old.id} works until ${old.expiresAt}`],
  };
}

const linesOfNew = (key: ApiKey, apiKey: string): string[] => [
  `Key  ${key.id}`,
  `API key  ${apiKey}`,
  'Store it now: the service does not store it and cannot show it again.',
];

async function list({ workspace }: { workspace: string }): Promise<Result> {
  const all = await apiKeys().list(workspace);
  return { json: { keys: all.map(jsonOf) }, lines: tableOf(all, 'No keys') };
}

async function revoke(keyId: string): Promise<Result> {
  const key = await apiKeys().revoke(keyId, clock.now().toISOString());
  if (key === undefined) throw new Error(`Key ${keyId} not found`);
  return { json: jsonOf(key), lines: tableOf([key]) };
}

function readDate(text: string): Date {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw new InvalidArgumentError('It must be an ISO 8601 date.');
  if (date <= clock.now()) throw new InvalidArgumentError('It must be in the future.');
  return date;
}

const milliseconds: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function readTime(text: string): number {
  const [, count, unit = ''] = /^(\d{1,4})([mhd])$/.exec(text) ?? [];
  const time = milliseconds[unit];
  if (time === undefined)
    throw new InvalidArgumentError('It must be a time such as 30m, 24h or 7d; 0m means at once.');
  return Number(count) * time;
}

const jsonOf = (key: ApiKey) => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  last_four: key.lastFour,
  created_at: key.createdAt,
  expires_at: key.expiresAt,
  revoked_at: key.revokedAt,
  last_used_on: key.lastUsedOn,
});

const tableOf = tableWith<ApiKey>({
  key: ({ id }) => id,
  'shows as': ({ prefix, lastFour }) => `${prefix}…${lastFour}`,
  state: (key) =>
    isUsable(key, clock.now()) ? 'usable' : key.revokedAt === null ? 'expired' : `revoked ${key.revokedAt}`,
  created: ({ createdAt }) => createdAt,
  expires: ({ expiresAt }) => expiresAt ?? 'never',
  'last used': ({ lastUsedOn }) => lastUsedOn ?? 'never',
  name: ({ name }) => name ?? '',
});
