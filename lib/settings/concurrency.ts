import * as z from 'zod';
import { minUnreservedExecutions } from '../concurrency.ts';

export const concurrencySettings = {
  accountConcurrency: z
    .int()
    .min(1)
    .default(1000)
    .describe(`
      AWS's quota of functions that run at once in the account and Region, of all stacks: 1,000 unless AWS
      has set another; new accounts may have 10. Below 1,000 the stage reserves less, in proportion, and
      nothing where that would be too little.
      An alarm goes off when seven eighths of what reservations leave of it are in use
      ([limits.md](limits.md#concurrent-executions)).`),

  preparationConcurrency: z
    .int()
    .min(1)
    .optional()
    .describe(`
      Executions reserved for the preparation of attached files, which a workspace alone may use half of.
      By default 50, less in a smaller account. A local run computes all of them on one machine, so it has
      fewer.`),

  otherStacksConcurrency: z
    .int()
    .min(minUnreservedExecutions)
    .default(minUnreservedExecutions)
    .describe(`
      Executions left unreserved for everything else in the account, such as other stages. Lambda requires
      ${minUnreservedExecutions}.`),

  reservedConcurrency: z
    .boolean()
    .default(true)
    .describe(`
      Reserves executions for functions. Set \`false\` where several stages share an account that has no
      room for all reservations.`),
};
