import { Command, InvalidArgumentError } from 'commander';
import { type ApiKey, isUsable } from '#domain/api-key.ts';
import { createApiKey } from '#domain/create-api-key.ts';
import { identifiers } from '#runtime/identifiers.ts';
import { apiKeys, clock, workspaces } from '#runtime/services.ts';
import type { Report } from './run-agentctl.ts';

export function keyCommands(report: Report): Command {
  const group = new Command('keys').description('API keys of a workspace.');
  group
    .command('create')
    .description('issue a key; it is shown this once')
    .requiredOption('--workspace <workspace>', 'whose key it is')
    .option('--name <name>', 'for operators to tell it by')
    .option('--expires <date>', 'when it stops working, such as 2027-01-31 or 2027-01-31T12:00:00Z', readDate)
    .action(
      report(async (options: { workspace: string; name?: string; expires?: Date }) => {
        const services = { apiKeys: apiKeys(), clock, identifiers, workspaces: workspaces() };
        const { key, apiKey } = await createApiKey(services)({
          workspaceId: options.workspace,
          name: options.name ?? null,
          expiresAt: options.expires ?? null,
        });
        return {
          json: { key_id: key.id, api_key: apiKey },
          lines: [
            `Key  ${key.id}`,
            `API key  ${apiKey}`,
            'Keep it: it is stored nowhere and cannot be shown again.',
          ],
        };
      }),
    );
  group
    .command('list')
    .description('list the keys of a workspace')
    .requiredOption('--workspace <workspace>', 'whose keys')
    .action(
      report(async ({ workspace }: { workspace: string }) => {
        const all = await apiKeys().list(workspace);
        return { json: { keys: all.map(jsonOf) }, lines: all.map(lineOf) };
      }),
    );
  group
    .command('revoke')
    .description('end a key; requests with it are refused within the authorizer’s cache time')
    .argument('<key-id>')
    .action(
      report(async (keyId: string) => {
        const key = await apiKeys().revoke(keyId, clock.now().toISOString());
        if (key === undefined) throw new Error(`Key ${keyId} not found`);
        return { json: jsonOf(key), lines: [lineOf(key)] };
      }),
    );
  return group;
}

function readDate(text: string): Date {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw new InvalidArgumentError('It must be an ISO 8601 date.');
  if (date <= clock.now()) throw new InvalidArgumentError('It must be in the future.');
  return date;
}

const jsonOf = (key: ApiKey) => ({
  key_id: key.id,
  name: key.name,
  prefix: key.prefix,
  last_four: key.lastFour,
  created_at: key.createdAt,
  expires_at: key.expiresAt,
  revoked_at: key.revokedAt,
});

const lineOf = (key: ApiKey): string =>
  [
    key.id,
    `${key.prefix}…${key.lastFour}`,
    isUsable(key, clock.now()) ? 'usable' : key.revokedAt === null ? 'expired' : 'revoked',
    key.expiresAt === null ? 'never expires' : `expires ${key.expiresAt}`,
    key.name ?? '',
  ].join('  ');
