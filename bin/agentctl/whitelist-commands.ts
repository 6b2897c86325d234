import { Command } from 'commander';
import { describeIssues } from '#contract/describe-issues.ts';
import { externalUserId } from '#contract/fields.ts';
import { workspaces } from '#runtime/composition/services.ts';
import { operation } from './report.ts';

export function whitelistCommands(): Command {
  const group = new Command('whitelist').description('The external users that may chat in whitelist mode.');
  operation(group, 'add <users...>', async (users: string[], { workspace }: { workspace: string }) => {
    users.forEach(checkUser);
    await workspaces().addToWhitelist(workspace, users);
    return { json: { workspace_id: workspace, added: users }, lines: [`Listed: ${users.join(', ')}`] };
  })
    .description('add external users to the whitelist')
    .requiredOption('--workspace <workspace>', 'whose whitelist');
  operation(group, 'remove <users...>', async (users: string[], { workspace }: { workspace: string }) => {
    users.forEach(checkUser);
    await workspaces().removeFromWhitelist(workspace, users);
    return { json: { workspace_id: workspace, removed: users }, lines: [`Not listed: ${users.join(', ')}`] };
  })
    .description('remove external users from the whitelist')
    .requiredOption('--workspace <workspace>', 'whose whitelist');
  operation(group, 'list', async ({ workspace }: { workspace: string }) => {
    const users = (await Array.fromAsync(workspaces().listed(workspace))).flat();
    return { json: { workspace_id: workspace, users }, lines: users.length === 0 ? ['No users'] : users };
  })
    .description('list the external users of the whitelist')
    .requiredOption('--workspace <workspace>', 'whose whitelist');
  return group;
}

export function checkUser(user: string): void {
  const { error } = externalUserId.safeParse(user);
  if (error !== undefined) throw new Error(describeIssues(error.issues, `The user ${user}`));
}
