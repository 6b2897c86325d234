import { createHash } from 'node:crypto';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import type * as z from 'zod';
import { agentDefinition } from '#contract/agent.ts';
import { type Limits, openBatchesLimit, rateLimit } from '#contract/rate-limits.ts';
import { createAgent, publishAgent } from '#domain/agents/agents.ts';
import { createApiKey } from '#domain/workspaces/api-keys.ts';
import { createWorkspace } from '#domain/workspaces/workspaces.ts';
import type { RunningTemplate, RunOptions } from '#local/run-template.ts';
import { agentStore, apiKeys, clock, workspaces } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { useLocalTable } from '../../bin/operator.ts';
import { compileCacheOf } from './compile-cache.ts';
import type { LocalServer } from './listen-locally.ts';
import { startSigningProxy } from './signing-proxy.ts';

export interface ServiceOptions
  extends Pick<
    RunOptions,
    | 'faults'
    | 'recordCalls'
    | 'maxConcurrency'
    | 'onLog'
    | 'otherFunctions'
    | 'clearAuthorizerCacheOnWrite'
    | 'secretValues'
    | 'timer'
    | 'waitMilliseconds'
  > {
  /** The synthesized template of a stage with other settings; by default the one of all tests. */
  assembly?: string;
  /** Environment variables of the functions that replace those of the template, such as STREAM_TIMEOUT_SECONDS. */
  variables?: Record<string, string>;
  /** Remains when the service closes. By default a new folder that is removed with the service. */
  dataDir?: string;
}

export interface Service {
  baseUrl: string;
  run: RunningTemplate;
  dataDir: string;
  /** Ends the run, and fails if a function did something that AWS would not have allowed. */
  close(): Promise<void>;
}

const givenEmulator = process.env.AWS_ENDPOINT_URL_DYNAMODB;

/**
 * Starts the whole service on this machine. `operator()` uses the table of a test file's first service. Without
 * options it joins the service that all such files share: a start costs as much as a hundred requests.
 */
export const startService = (options?: ServiceOptions): Promise<Service> =>
  options === undefined ? joinSharedService() : startOwnService(options);

async function joinSharedService(): Promise<Service> {
  const { run, violationsUrl } = inject('sharedService');
  const dataDir = await mkdtemp(join(tmpdir(), 'service-data-'));
  useLocalTable(run.outputs.DataTableName ?? '', run.endpoints.dynamodb ?? '');
  const unshared = (): never => {
    throw new Error('This would affect all files that share the service: start a separate one, with options');
  };
  return {
    baseUrl: `${run.url}/v1`,
    run: {
      ...run,
      endpoints: run.endpoints as RunningTemplate['endpoints'],
      killWorkers: unshared,
      shutDownEnvironments: unshared,
      workers: unshared,
      dynamoCalls: unshared,
      calls: unshared,
      violations: unshared,
      close: unshared,
    },
    dataDir,
    async close() {
      forgetEmulator();
      await rm(dataDir, { recursive: true, force: true });
      rejectViolations((await (await fetch(violationsUrl)).json()) as string[]);
    },
  };
}

async function startOwnService(options: ServiceOptions): Promise<Service> {
  const { variables, dataDir: givenFolder, ...others } = options;
  const dataDir = givenFolder ?? (await newDataFolder());
  // A deferred import: files that share the service do not need the runner.
  const { runTemplate } = await import('#local/run-template.ts');
  const proxy = await startTableProxy(dataDir);
  if (proxy !== undefined) process.env.AWS_ENDPOINT_URL_DYNAMODB = proxy.url;
  const run = await runTemplate({
    assembly: inject('assembly'),
    compileCacheFolder: compileCacheOf(inject('assembly')),
    dataDir,
    port: 0,
    clearAuthorizerCacheOnWrite: true,
    onDenied: (message) => console.error(`Access denied. ${message}`),
    // No schedule starts: the first calls of the scheduled functions take as long as the start, and the reconciler would
    // take a batch up that a test has left without an execution. Tests that need schedules pass another timer.
    timer: { after: () => () => undefined },
    ...others,
    ...(variables !== undefined && { environment: variables }),
  });
  useLocalTable(run.outputs.DataTableName ?? '', run.endpoints.dynamodb);
  return {
    baseUrl: `${run.url}/v1`,
    run,
    dataDir,
    async close() {
      await run.close();
      proxy?.close();
      forgetEmulator();
      if (givenFolder === undefined) await rm(dataDir, { recursive: true, force: true });
      rejectViolations(run.violations());
    },
  };
}

/** A data folder whose run trusts the workflow that the shared service has checked: a check takes half of a start. */
async function newDataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'service-data-'));
  const checked = 'checked-definitions.json';
  await copyFile(join(inject('sharedService').dataDir, checked), join(folder, checked));
  return folder;
}

/**
 * A test file's second service uses the tables of its first one, whose address the stores have. A given emulator
 * gives each data folder a database of its own.
 */
async function startTableProxy(dataDir: string): Promise<LocalServer | undefined> {
  const endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB;
  if (endpoint === undefined) return undefined;
  if (endpoint !== givenEmulator) return await startSigningProxy(endpoint);
  const accessKeyId = createHash('sha256').update(dataDir).digest('hex').slice(0, 20);
  return await startSigningProxy(endpoint, { accessKeyId, secretAccessKey: 'local' });
}

/** Restores AWS_ENDPOINT_URL_DYNAMODB: a later start must not use the emulator of a run that has ended. */
function forgetEmulator(): void {
  if (givenEmulator === undefined) delete process.env.AWS_ENDPOINT_URL_DYNAMODB;
  else process.env.AWS_ENDPOINT_URL_DYNAMODB = givenEmulator;
}

function rejectViolations(violations: string[]): void {
  if (violations.length > 0) throw new Error(violations.join('\n'));
}

export interface Tenant {
  workspaceId: string;
  apiKey: string;
  apiKeyId: string;
  /** A published agent that uses the given model. */
  agentId: string;
}

/** The services that an operator's commands use, on the table of the test file's first service. */
export const operator = () => ({
  agents: agentStore(),
  apiKeys: apiKeys(),
  clock,
  identifiers,
  workspaces: workspaces(),
});

/** Creates a workspace without limits, with a key and a published agent, so that no test sees another test's data. */
export async function createTenant(
  options: {
    whitelist?: string[];
    model?: string;
    titles?: boolean;
    /** The workspace may use the OpenAI-compatible routes. */
    openai?: boolean;
    agent?: AgentFields;
    /** Limits that replace the stage's, as operators write them. With `{}` the workspace has the stage's limits. */
    limits?: LimitTexts;
  } = {},
): Promise<Tenant> {
  const services = operator();
  const { id: workspaceId } = await createWorkspace(services, {
    name: 'Test',
    whitelistEnabled: options.whitelist !== undefined,
    limits: 'none',
    openAiEnabled: options.openai ?? false,
  });
  if (options.limits !== undefined) await setLimits(workspaceId, options.limits);
  if (options.titles === false) await services.workspaces.update(workspaceId, { titlesEnabled: false });
  await services.workspaces.addToWhitelist(workspaceId, options.whitelist ?? []);
  const { apiKey, key } = await createApiKey(services, { workspaceId, name: null, expiresAt: null });
  const fields = { ...(options.model !== undefined && { llm_model: options.model }), ...options.agent };
  return { workspaceId, apiKey, apiKeyId: key.id, agentId: await createPublishedAgent(workspaceId, fields) };
}

type LimitTexts = { [Name in keyof Limits]?: string };

/** Gives a workspace the stage's limits, except for these limits and those that were set before. */
export async function setLimits(workspaceId: string, limits: LimitTexts): Promise<void> {
  const own = Object.entries(limits).map(([name, text]) => [
    name,
    name === 'openBatches' ? openBatchesLimit.parse(text) : rateLimit.parse(text),
  ]);
  await workspaces().update(workspaceId, { limits: 'default', ownLimits: Object.fromEntries(own) });
}

/** The fields of an agent that a test sets; the others have the defaults of agent.json. */
export type AgentFields = Partial<z.input<typeof agentDefinition>>;

export async function createPublishedAgent(workspaceId: string, fields: AgentFields = {}): Promise<string> {
  const agentId = await createDraftAgent(workspaceId, fields);
  await publishAgent(operator(), agentId);
  return agentId;
}

export async function createDraftAgent(workspaceId: string, fields: AgentFields = {}): Promise<string> {
  const definition = agentDefinition.parse({ name: 'Test agent', ...fields });
  return (await createAgent(operator(), { workspaceId, definition })).id;
}
