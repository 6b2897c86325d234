import * as z from 'zod';

const rollouts = [
  'AllAtOnce',
  'Canary10Percent5Minutes',
  'Canary10Percent10Minutes',
  'Canary10Percent15Minutes',
  'Canary10Percent30Minutes',
  'Linear10PercentEvery1Minute',
  'Linear10PercentEvery2Minutes',
  'Linear10PercentEvery3Minutes',
  'Linear10PercentEvery10Minutes',
] as const;

export const stageSettings = {
  production: z
    .boolean()
    .default(true)
    .describe(`
      Protects the data: tables, buckets, keys, secrets and logs stay when the stack is deleted, and the
      stack and its table are protected from deletion. With \`false\`, all data is deleted with the stack.`),

  rollout: z
    .enum(rollouts)
    .default('Canary10Percent5Minutes')
    .describe(`
      How new code takes over. The default sends a tenth of the calls to it for five minutes and then all
      calls, and goes back if an alarm goes off meanwhile. \`AllAtOnce\` switches at once, and goes back
      only if the deployment fails.`),

  restoredTable: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{3,255}$/, 'must be the name of a table')
    .optional()
    .meta({
      form: 'name of a table',
      limits: '3 to 255 letters, digits and `_.-`',
      description: `
        A table that was restored to a point in time. The stage uses it instead of its own table, which then
        leaves the stack: production retains it, other stages delete it. Remove the setting only together
        with the import of the restored table ([deploy.md](deploy.md#restoring-the-table)): without it, the
        next deployment creates an empty table.`,
    }),
};
