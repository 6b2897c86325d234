import type { RunContext } from '../run-context.ts';

/**
 * Loads what a message needs, after the start: the authorizers and the web functions. Every other function loads when
 * it is called first, as in AWS: each loaded thread occupies 30 MB.
 */
export async function prewarm({ serving, functions, webFunctions, authorizers }: RunContext): Promise<void> {
  await serving.promise;
  for (const arn of authorizers) await functions.get(arn)?.prewarm();
  for (const server of webFunctions.values()) await server.prewarm();
}
