import { join } from 'node:path';
import { startProgram } from '#support/command.ts';

export interface ChildServer {
  url: string;
  pid: number;
  close(): Promise<void>;
}

/** Starts a program of this folder that calls `serve` (serve.ts), with these options as its argument. */
export async function startChildServer(file: string, options: unknown): Promise<ChildServer> {
  const words = [process.execPath, join(import.meta.dirname, file), JSON.stringify(options)];
  const { child, printed, output, ended } = startProgram(words, {}, 'pipe');
  child.stderr?.pipe(process.stderr);
  await printed('\n');
  return {
    url: output().trim(),
    pid: child.pid ?? 0,
    async close() {
      child.kill();
      await ended;
    },
  };
}
