import { Command } from 'commander';
import { describeIssues } from '#contract/describe-issues.ts';
import { externalUserId } from '#contract/fields.ts';
import { workspaces } from '#runtime/composition/services.ts';
import type { Report } from './result.ts';

export function whitelistCommands(report: Report): Command {
  const group = new Command('whitelist').description('The external users that may chat in whitelist mode.');
  group
    .command('add')
    .description('add external users to the whitelist')
    .requiredOption('--workspace <workspace>', 'whose whitelist')
    .argument('<users...>')
    .action(
      report(async (users: string[], { workspace }: { workspace: string }) => {
        checkUsers(users);
        await workspaces().addToWhitelist(workspace, users);
        return { json: { workspace_id: workspace, added: users }, lines: [`Listed: ${users.join(', ')}`] };
      }),
    );
  group
    .command('remove')
    .description('remove external users from the whitelist')
    .requiredOption('--workspace <workspace>', 'whose whitelist')
    .argument('<users...>')
    .action(
      report(async (users: string[], { workspace }: { workspace: string }) => {
        checkUsers(users);
        await workspaces().removeFromWhitelist(workspace, users);
        return {
          json: { workspace_id: workspace, removed: users },
          lines: [`Not listed: ${users.join(', ')}`],
        };
      }),
    );
  group
    .command('list')
    .description('list the external users of the whitelist')
    .requiredOption('--workspace <workspace>', 'whose whitelist')
    .action(
      report(async ({ workspace }: { workspace: string }) => {
        const users = (await Array.fromAsync(workspaces().listed(workspace))).flat();
        return {
          json: { workspace_id: workspace, users },
          lines: users.length === 0 ? ['No users'] : users,
        };
      }),
    );
  return group;
}

function checkUsers(users: readonly string[]): void {
  for (const user of users) {
    const parsed = externalUserId.safeParse(user);
    if (!parsed.success) throw new Error(describeIssues(parsed.error.issues, `The user ${user}`));
  }
}
