import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';

export const observabilitySettings = {
  alarmEmails: z
    .array(z.email())
    .max(10)
    .default([])
    .describe(`
      Addresses that alarms are sent to. Each must confirm its subscription once. For more than ten people,
      use a mailing list.`),

  logLevel: z
    .enum(['DEBUG', 'INFO', 'WARN', 'ERROR'])
    .default('INFO')
    .describe(`
      The lowest level that is logged. \`WARN\` leaves out what succeeded. Metrics do not depend on it.`),

  logRetentionDays: z
    .enum(RetentionDays)
    .default(RetentionDays.ONE_MONTH)
    .describe(`
      How long logs are stored. One month is long enough to investigate a complaint, and short enough to
      stay cheap. 9999 is for ever.`),
};
