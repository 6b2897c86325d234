import { startChildServer } from './child-server.ts';
import type { CallTimes, Pace } from './scripted-provider.ts';

export interface Provider {
  /** For OPENAI_BASE_URL. */
  url: string;
  setPace(pace: Pace): Promise<void>;
  /** The calls since the pace was set. */
  calls(): Promise<CallTimes[]>;
  close(): Promise<void>;
}

/** Starts the scripted provider in its own process. */
export async function startProvider(): Promise<Provider> {
  const { url, close } = await startChildServer('scripted-provider.ts', {});
  return {
    url: `${url}/v1`,
    async setPace(pace) {
      await fetch(`${url}/pace`, { method: 'PUT', body: JSON.stringify(pace) });
    },
    calls: async () => (await (await fetch(`${url}/calls`)).json()) as CallTimes[],
    close,
  };
}
