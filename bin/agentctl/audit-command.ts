import { Command } from 'commander';
import type { AuditEntry } from '#domain/workspaces/audit.ts';
import { auditLog } from '#runtime/composition/services.ts';
import { type Days, rejectOrder, withDays } from './days.ts';
import type { Report } from './result.ts';

export function auditCommand(report: Report): Command {
  return withDays(new Command('audit'))
    .description('tell what operators did: when, who, what, to what, and what is different since')
    .option('--workspace <workspace>', 'of this workspace alone')
    .addHelpText('after', auditHelp)
    .action(
      report(async ({ workspace, from, to }: Days & { workspace?: string }) => {
        rejectOrder({ from, to });
        const entries = (await Array.fromAsync(auditLog().between(workspace, from, to))).flat();
        return {
          json: { from, to, entries: entries.map(jsonOf) },
          lines: entries.length === 0 ? [`Nothing was done from ${from} to ${to}`] : entries.map(lineOf),
        };
      }),
    );
}

const auditHelp = `
Every change that agentctl makes leaves an entry, in the transaction of the change itself, and entries are kept for as
long as the table. On a deployed stack who did it is the ARN that AWS knows the caller by; on a local run it is the name
of the machine's user. Keys, secrets and what agents are told are never part of it.`;

const jsonOf = ({ at, actor, action, workspaceId, target, changes }: AuditEntry) => ({
  at,
  actor,
  action,
  workspace_id: workspaceId,
  target,
  changes,
});

const lineOf = ({ at, actor, action, workspaceId, target, changes }: AuditEntry): string =>
  [at, actor, action, workspaceId, ...(target === workspaceId ? [] : [target]), JSON.stringify(changes)].join(
    '  ',
  );
