import { join } from 'node:path';
import { endChild, startProgram } from './child-program.ts';
import type { CallTimes, Pace, ProviderCounts } from './scripted-provider.ts';

const program = join(import.meta.dirname, 'scripted-provider.ts');

export interface Provider {
  /** For OPENAI_BASE_URL. */
  url: string;
  setPace(pace: Pace): Promise<void>;
  /** The number of model calls since the start. */
  calls(): Promise<number>;
  /** The calls since the pace was set. */
  times(): Promise<CallTimes[]>;
  close(): Promise<void>;
}

/** Starts the scripted provider in its own process. */
export async function startProvider(): Promise<Provider> {
  const { child, ready } = await startProgram<{ port: number }>(program, {});
  const address = `http://127.0.0.1:${ready.port}`;
  return {
    url: `${address}/v1`,
    async setPace(pace) {
      await fetch(`${address}/pace`, { method: 'PUT', body: JSON.stringify(pace) });
    },
    async calls() {
      return ((await (await fetch(`${address}/counts`)).json()) as ProviderCounts).calls;
    },
    times: async () => (await (await fetch(`${address}/times`)).json()) as CallTimes[],
    close: () => endChild(child),
  };
}
