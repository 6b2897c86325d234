import type { Readable } from 'node:stream';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { runnerPorts } from '../wire/listen-on-loopback.ts';
import type { ThreadDefinition } from './function-definition.ts';
import type { GuardData } from './thread/messages.ts';

export function startThread(
  script: URL,
  definition: ThreadDefinition,
  resourceLimits: ResourceLimits,
  onLine: (line: string) => void,
): Worker {
  const worker = new Worker(script, {
    name: definition.functionName,
    // Node reads NODE_COMPILE_CACHE when the thread starts; the thread then deletes it.
    env: { ...definition.environment, NODE_COMPILE_CACHE: definition.compileCacheFolder },
    argv: [],
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits,
    workerData: { ...definition, runnerPorts } satisfies GuardData,
  });
  passLines(worker.stdout, onLine);
  passLines(worker.stderr, onLine);
  return worker;
}

function passLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  stream.on('close', () => {
    if (rest) onLine(rest);
  });
}
