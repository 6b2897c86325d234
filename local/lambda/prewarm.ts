import type { RunContext } from '../run-context.ts';

/**
 * Loads what a message needs, after the start: the authorizers, and the web functions of the gateway's routes. Every
 * other function loads when it is called first, as in AWS: each loaded thread occupies 30 MB.
 */
export async function prewarm(context: RunContext): Promise<void> {
  await context.serving.promise;
  for (const arn of context.authorizers) await context.functions.get(arn)?.prewarm();
  for (const domain of context.integratedDomains) await context.webFunctions.get(domain)?.prewarm();
}
