import { Command } from 'commander';
import { describeIssues } from '#contract/describe-issues.ts';
import { externalUserId } from '#contract/fields.ts';
import { workspaces } from '#runtime/composition/services.ts';
import { report } from './report.ts';

export function whitelistCommands(): Command {
  const group = new Command('whitelist').description('The external users that may chat in whitelist mode.');
  const change =
    (
      done: 'added' | 'removed',
      report: string,
      store: (workspace: string, users: string[]) => Promise<void>,
    ) =>
    async (users: string[], { workspace }: { workspace: string }) => {
      checkUsers(users);
      await store(workspace, users);
      return { json: { workspace_id: workspace, [done]: users }, lines: [`${report}: ${users.join(', ')}`] };
    };
  group
    .command('add <users...>')
    .description('add external users to the whitelist')
    .requiredOption('--workspace <workspace>', 'whose whitelist')
    .action(report(change('added', 'Listed', (...given) => workspaces().addToWhitelist(...given))));
  group
    .command('remove <users...>')
    .description('remove external users from the whitelist')
    .requiredOption('--workspace <workspace>', 'whose whitelist')
    .action(
      report(change('removed', 'Not listed', (...given) => workspaces().removeFromWhitelist(...given))),
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
