import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatLimits } from '#contract/rate-limits.ts';
import { webFunctionNames } from '#lib/bundles/function-bundles.ts';
import { parseSettings } from '#lib/settings.ts';
import { variables } from '#runtime/environment/variables.ts';

/** Milliseconds until a process was ready, and milliseconds of processor time that it had used by then. */
export interface Start {
  elapsed: number;
  processor: number;
}

const programText = `
globalThis.awslambda = { streamifyResponse: (handler) => handler, HttpResponseStream: {} };
const { handler } = await import(process.argv[2]);
if (typeof handler !== 'function' && process.argv[3] !== 'server') throw new Error('no handler');
const { user, system } = process.cpuUsage();
process.stdout.write(String((user + system) / 1000), () => process.exit(0));
`;

/** Writes the program that stands in for Lambda's runtime into its own folder. */
export async function makeStartProgram() {
  const folder = await mkdtemp(join(tmpdir(), 'start-'));
  const program = join(folder, 'load.mjs');
  const emptyModule = join(folder, 'empty.mjs');
  await writeFile(program, programText);
  await writeFile(emptyModule, 'export const handler = async () => ({});\n');
  const env = functionVariables();
  return {
    /** A module with a handler that does nothing. */
    emptyModule,
    /**
     * Loads a function's module in a fresh process as Lambda does: no compile cache, an ES module with no `require`.
     * @throws Error with its stderr if the process failed or wrote to stderr
     */
    async load(module: string): Promise<Start> {
      // A web function has no handler: it listens.
      const kind = webFunctionNames.some((name) => module.includes(`/${name}/`)) ? 'server' : 'handler';
      const from = performance.now();
      const child = spawn(process.execPath, [program, module, kind], { env });
      const start: Start = { elapsed: Number.NaN, processor: Number.NaN };
      let errors = '';
      child.stdout.once('data', (processor) => {
        Object.assign(start, { elapsed: performance.now() - from, processor: Number(processor) });
      });
      child.stderr.on('data', (chunk) => {
        errors += chunk;
      });
      const [code] = (await once(child, 'close')) as [number | null];
      if (code !== 0 || errors !== '' || Number.isNaN(start.processor))
        throw new Error(`${module} ended with code ${code}: ${errors.slice(-2000)}`);
      return start;
    },
    close: () => rm(folder, { recursive: true }),
  };
}

/** Variables with which every function loads. Loading makes no calls. */
function functionVariables(): Record<string, string> {
  const { rateLimits } = parseSettings({});
  const numbers = Object.fromEntries(Object.values(variables).map((variable) => [variable, '30']));
  return {
    AWS_REGION: 'eu-west-1',
    ...numbers,
    [variables.openAiBaseUrl]: 'https://models.example/v1',
    [variables.batchQueueUrl]: 'https://queue.example/requests',
    [variables.purgeQueueUrl]: 'https://queue.example/purges',
    [variables.webhookAllow]: '127.0.0.1:443',
    [variables.webhookPlainLoopback]: 'true',
    [variables.stageLimits]: formatLimits(rateLimits),
    [variables.httpEndpoint]: '127.0.0.1:0',
  };
}
