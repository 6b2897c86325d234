import { createServer } from 'node:http';
import { listenOnLoopback } from '#local/wire/listen-on-loopback.ts';

/** @throws UnusablePort if the run cannot listen on this port */
export async function checkPort(port: number): Promise<void> {
  if (port === 0) return;
  const { close } = await listenOnLoopback(createServer(), { port });
  await close();
}
