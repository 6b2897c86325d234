import { vi } from 'vitest';

/** The environment variables of a worker before its first test file. */
declare global {
  var variablesOfWorker: Readonly<NodeJS.ProcessEnv> | undefined;
}

// Each file starts with its own instances of this project's modules, whose state includes clients of AWS services, and
// with the variables with which its worker started.
vi.resetModules();
globalThis.variablesOfWorker ??= { ...process.env };
for (const name of Object.keys(process.env))
  if (!(name in globalThis.variablesOfWorker)) delete process.env[name];
Object.assign(process.env, globalThis.variablesOfWorker);
