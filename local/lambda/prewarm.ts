import type { RunContext } from '../run-context.ts';

/**
 * Loads one thread of each function that the first messages and batches need, after the start: the authorizers, the web
 * functions of the gateway's routes, and the functions whose logical ids begin with a prefix. Every other function loads
 * when it is called first, as in AWS: each loaded thread occupies 30 MB.
 */
export async function prewarm(context: RunContext, prefixes: readonly string[]): Promise<void> {
  await context.serving.promise;
  for (const arn of context.authorizers) await context.functions.get(arn)?.prewarm();
  for (const domain of context.integratedDomains) await context.webFunctions.get(domain)?.prewarm();
  for (const prefix of prefixes)
    for (const pool of context.functions.values())
      if (pool.logicalId.startsWith(prefix)) await pool.prewarm();
}
