import { findUnusedPermissions, type UntestablePermission } from './unused-permissions.ts';

/** Permissions that a local run cannot use, or uses only by chance. A test must use every other permission. */
const untestable: readonly UntestablePermission[] = [
  { action: /^logs:/, reason: 'A local run prints log lines: it has no CloudWatch Logs.' },
  { action: /^xray:/, reason: 'Traces are sent by Lambda and Step Functions themselves.' },
  ...(['GetItem', 'BatchGetItem'] as const).map((action, index) => ({
    action: new RegExp(`^dynamodb:${action}$`),
    insteadOf: `dynamodb:${index === 0 ? 'BatchGetItem' : 'GetItem'}`,
    reason: 'Concurrent reads are sent as one BatchGetItem, a single read as GetItem: timing decides which.',
  })),
];

/**
 * Functions with the permissions of the web function of chats, which serves the same routes: what that one uses, they
 * need too. And lists that fit into the buffers of a local run, whose readers are never slow there.
 */
const sameAs = {
  ...{ SendMessage: 'Chats', CreateChat: 'Chats', CompleteChat: 'Chats' },
  ...{ ListChats: 'ListMessages', ListBatches: 'ListMessages', ListBatchResults: 'ListMessages' },
  ...{ ListPublishedAgents: 'ListMessages', ListModels: 'ListMessages' },
};

/**
 * A restored table has the place of the stack's table, a secret's next generation that of the one before, and the key of a
 * named endpoint that of the common one. A function of tools has the permission of any other one.
 */
const standIn = (resource: string): string =>
  resource
    .replace(/:table\/[^/]+/, ':table/DataTable')
    .replace(/(:secret:.*-OriginSecret).*/, '$1')
    .replace(/(:secret:.*-OpenAiApiKey).*/, '$1')
    .replace(/:123456789012:function:.*/, ':function:OfTools');

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Pass the folder that PERMISSION_NOTES named while all tests ran');
  process.exit(1);
}
const { grants, unused, needless } = findUnusedPermissions(folder, /^agent-service-/, {
  untestable,
  sameAs,
  standIn,
});
for (const permission of unused) console.error(`No test used ${permission}`);
for (const exception of needless) console.error(`No role has ${exception}, so it needs no exception`);
console.log(`${grants} statements of roles checked, ${unused.length} permissions unused`);
// Without any grant there was nothing to check, which is a failure.
process.exit(grants > 0 && unused.length === 0 && needless.length === 0 ? 0 : 1);
