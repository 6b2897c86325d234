import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { secretName } from '#contract/tools.ts';
import { parseHostAndPort } from '#contract/urls.ts';
import { secretLimits, type ToolSecret } from '#domain/tools/tool-secret.ts';
import { agentStore, clock, toolSecretCipher, toolSecrets } from '#runtime/composition/services.ts';
import { operation, type Result } from './report.ts';
import { tableWith } from './text-table.ts';

interface Options {
  workspace: string;
  host: string[];
  force?: true;
}

export function addToolSecrets(group: Command): void {
  operation(group, 'set <name>', set)
    .description('set a secret for tools of agents; its value is read from standard input')
    .requiredOption('--workspace <workspace>', 'the workspace whose agents may name it')
    .requiredOption('--host <host:port...>', 'where it may be sent, such as mcp.crm.example:443')
    .addHelpText('after', help);
  operation(group, 'list', list)
    .description('list the secrets for tools, without their values')
    .requiredOption('--workspace <workspace>', 'the workspace of the secrets');
  operation(group, 'remove <name>', remove)
    .description('remove a secret for tools')
    .requiredOption('--workspace <workspace>', 'the workspace of the secret')
    .option('--force', 'even if a published agent names it: its tools then fail');
}

const help = `
The value is encrypted for exactly this workspace, name and hosts: it is never sent to another host or port, and no command
prints it. Set it again to replace the value or the hosts; replies use it within five minutes. A newline at its end is no part of it.`;

async function set(name: string, { workspace, host }: Options): Promise<Result> {
  const { error } = secretName.safeParse(name);
  if (error !== undefined) throw new Error(`The name ${error.issues[0]?.message}`);
  const hosts = [...new Set(host.map(readHost))].toSorted();
  if (hosts.length > secretLimits.hosts)
    throw new Error(`A secret may have ${secretLimits.hosts} hosts, this one has ${hosts.length}`);
  const others = (await toolSecrets().list(workspace)).filter((secret) => secret.name !== name);
  const { ofWorkspace } = secretLimits;
  if (others.length >= ofWorkspace)
    throw new Error(`The workspace has ${others.length} secrets, at most ${ofWorkspace} are allowed`);
  const owner = { workspaceId: workspace, name, hosts };
  const encrypted = await toolSecretCipher.encrypt(await readValue(), owner);
  const secret = { name, hosts, encrypted, updatedAt: clock.now().toISOString() };
  await toolSecrets().put(workspace, secret);
  return { json: { workspace_id: workspace, ...shown(secret) }, lines: tableOf([secret]) };
}

function readHost(text: string): string {
  const parsed = parseHostAndPort(text);
  if (parsed === undefined || parsed.port === '*')
    throw new Error(`--host ${text} must be HOST:PORT, such as mcp.crm.example:443`);
  return `${parsed.host}:${parsed.port}`;
}

async function readValue(): Promise<string> {
  const value = (await text(process.stdin)).replace(/\r?\n$/, '');
  const { characters: least, bytes: most } = secretLimits;
  if (value.length < least || value.length > most || /[^\x20-\x7e]/.test(value))
    throw new Error(`The value must have ${least} to ${most} printable ASCII characters, on standard input`);
  return value;
}

async function list({ workspace }: Options): Promise<Result> {
  const secrets = await toolSecrets().list(workspace);
  const json = { workspace_id: workspace, secrets: secrets.map(shown) };
  return { json, lines: tableOf(secrets, 'No secrets') };
}

async function remove(name: string, { workspace, force }: Options): Promise<Result> {
  const users = force ? [] : await agentsWith(workspace, name);
  if (users.length > 0)
    throw new Error(`Published agents name the secret: ${users.join(', ')}. Remove it with --force`);
  if (!(await toolSecrets().remove(workspace, name))) throw new Error(`The workspace has no secret ${name}`);
  return { json: { workspace_id: workspace, removed: name }, lines: [`Removed ${name}`] };
}

async function agentsWith(workspace: string, name: string): Promise<string[]> {
  const published = (await Array.fromAsync(agentStore().listPublished(workspace))).flat();
  const names = ({ config }: { config?: object | undefined }) => Object(Object(config).auth).secret === name;
  const users = published.filter(({ definition }) => definition.unified_tools.some(names));
  return users.map(({ agentId }) => agentId);
}

const shown = ({ name, hosts, updatedAt }: ToolSecret) => ({ name, hosts, updated_at: updatedAt });

const tableOf = tableWith<ToolSecret>({
  secret: ({ name }) => name,
  updated: ({ updatedAt }) => updatedAt,
  hosts: ({ hosts }) => hosts.join(' '),
});
