import { Command } from 'commander';
import type { AuditEntry } from '#domain/workspaces/audit.ts';
import { auditLog } from '#runtime/composition/services.ts';
import { checkOrder, type Days, withDays } from './days.ts';
import { report } from './report.ts';
import { tableWith } from './text-table.ts';

export function auditCommand(): Command {
  return withDays(new Command('audit'))
    .description('show what operators did: time, operator, action, target, and changes')
    .option('--workspace <workspace>', 'only actions on this workspace')
    .addHelpText('after', auditHelp)
    .action(
      report(async ({ workspace, from, to }: Days & { workspace?: string }) => {
        checkOrder({ from, to });
        const entries = (await Array.fromAsync(auditLog().between(workspace, from, to))).flat();
        return {
          json: { from, to, entries: entries.map(jsonOf) },
          lines: tableOf(entries, `Nothing was done from ${from} to ${to}`),
        };
      }),
    );
}

const auditHelp = `
agentctl writes an audit entry for every change, in the same transaction as the change. Entries do not expire. On a
deployed stack the operator is the caller's ARN in AWS; on a local run it is the name of the machine's user. Entries
never contain keys, secrets or prompts of agents.`;

const jsonOf = ({ at, actor, action, workspaceId, target, changes }: AuditEntry) => ({
  at,
  actor,
  action,
  workspace_id: workspaceId,
  target_id: target,
  changes,
});

const tableOf = tableWith<AuditEntry>({
  time: ({ at }) => at,
  operator: ({ actor }) => actor,
  action: ({ action }) => action,
  workspace: ({ workspaceId }) => workspaceId ?? '',
  target: ({ target, workspaceId }) => (target === workspaceId ? '' : target),
  changes: ({ changes }) => JSON.stringify(changes),
});
