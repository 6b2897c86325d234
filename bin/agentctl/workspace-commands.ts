import { Command, Option } from 'commander';
import { createWorkspace } from '#domain/create-workspace.ts';
import type { WorkspaceChanges } from '#domain/ports/workspace-store.ts';
import type { Workspace } from '#domain/workspace.ts';
import { identifiers } from '#runtime/identifiers.ts';
import { clock, workspaces } from '#runtime/services.ts';
import type { Report, Result } from './run-agentctl.ts';

const onOff = (flags: string, description: string) => new Option(flags, description).choices(['on', 'off']);

interface UpdateOptions {
  whitelist?: 'on' | 'off';
  limits?: Workspace['limits'];
  enabled?: 'on' | 'off';
  titles?: 'on' | 'off';
}

export function workspaceCommands(report: Report): Command {
  const group = new Command('workspaces').description('Tenants: each has its own keys, agents and chats.');
  group
    .command('create')
    .description('create a workspace')
    .requiredOption('--name <name>', 'for operators to tell it by')
    .option('--whitelist', 'only listed external users may chat', false)
    .action(
      report(async ({ name, whitelist }: { name: string; whitelist: boolean }) =>
        resultOf(
          await createWorkspace({ clock, identifiers, workspaces: workspaces() })({
            name,
            whitelistEnabled: whitelist,
            limits: 'default',
          }),
        ),
      ),
    );
  group
    .command('update')
    .description('change a workspace')
    .argument('<workspace>')
    .addOption(onOff('--whitelist <on|off>', 'only listed external users may chat'))
    .addOption(
      new Option('--limits <limits>', 'none: its requests and open batches are not limited').choices([
        'default',
        'none',
      ]),
    )
    .addOption(onOff('--enabled <on|off>', 'off: every request is answered 403'))
    .addOption(onOff('--titles <on|off>', 'name chats by their first message'))
    .action(
      report(async (workspaceId: string, options: UpdateOptions) => {
        const changes = changesOf(options);
        if (Object.keys(changes).length === 0)
          throw new Error('Nothing to change: give --whitelist, --limits, --enabled or --titles');
        const workspace = await workspaces().update(workspaceId, changes);
        if (workspace === undefined) throw new Error(`Workspace ${workspaceId} not found`);
        return resultOf(workspace);
      }),
    );
  group
    .command('list')
    .description('list workspaces')
    .action(
      report(async () => {
        const all = await workspaces().list();
        return { json: { workspaces: all.map(jsonOf) }, lines: all.map(lineOf) };
      }),
    );
  return group;
}

function changesOf({ whitelist, limits, enabled, titles }: UpdateOptions): WorkspaceChanges {
  return {
    ...(whitelist !== undefined && { whitelistEnabled: whitelist === 'on' }),
    ...(limits !== undefined && { limits }),
    ...(enabled !== undefined && { enabled: enabled === 'on' }),
    ...(titles !== undefined && { titlesEnabled: titles === 'on' }),
  };
}

const resultOf = (workspace: Workspace): Result => ({ json: jsonOf(workspace), lines: [lineOf(workspace)] });

const jsonOf = (workspace: Workspace) => ({
  workspace_id: workspace.id,
  name: workspace.name,
  enabled: workspace.enabled,
  whitelist: workspace.whitelistEnabled,
  titles: workspace.titlesEnabled,
  limits: workspace.limits,
  created_at: workspace.createdAt,
});

const lineOf = (workspace: Workspace): string =>
  [
    workspace.id,
    workspace.enabled ? 'enabled' : 'disabled',
    `whitelist ${workspace.whitelistEnabled ? 'on' : 'off'}`,
    `titles ${workspace.titlesEnabled ? 'on' : 'off'}`,
    `limits ${workspace.limits}`,
    workspace.name,
  ].join('  ');
