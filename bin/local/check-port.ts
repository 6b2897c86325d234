import { createServer } from 'node:http';
import { listenOnLoopback } from '#local/wire/listen-on-loopback.ts';

/**
 * Checks the run's port before the stack is synthesized, which may take a minute.
 * @throws UnusablePort
 */
export async function checkPort(port: number): Promise<void> {
  if (port === 0) return;
  const { close } = await listenOnLoopback(createServer(), port);
  await close();
}
