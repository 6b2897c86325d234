import { findUnusedPermissions, type UntestablePermission } from './unused-permissions.ts';

/** What calls that leave the machine would use; whatever can be called here must be called by a test. */
const untestable: readonly UntestablePermission[] = [
  { action: /^logs:/, reason: 'Lines are shown, not stored: there is no CloudWatch Logs on one machine.' },
  { action: /^xray:/, reason: 'Traces are sent by Lambda and Step Functions themselves.' },
  ...(['GetItem', 'BatchGetItem'] as const).map((action, index) => ({
    action: new RegExp(`^dynamodb:${action}$`),
    insteadOf: `dynamodb:${index === 0 ? 'BatchGetItem' : 'GetItem'}`,
    reason:
      'Reads asked for in the same moment travel together, others alone: which do is a matter of timing.',
  })),
];

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Name the folder that PERMISSION_NOTES named while all tests ran');
  process.exit(1);
}
const { grants, unused, needless } = findUnusedPermissions(folder, /^agent-service-/, untestable);
for (const permission of unused) console.error(`No test used ${permission}`);
for (const exception of needless) console.error(`No role has ${exception}, so it needs no exception`);
console.log(`${grants} statements of roles looked at, ${unused.length} permissions unused`);
// A check that looked at nothing has found nothing out.
process.exit(grants > 0 && unused.length === 0 && needless.length === 0 ? 0 : 1);
