import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import type * as z from 'zod';
import { agentDefinition } from '#contract/agent.ts';
import { type Limits, openBatchesLimit, rateLimit } from '#contract/rate-limits.ts';
import { createAgent } from '#domain/agents/create-agent.ts';
import { publishAgent } from '#domain/agents/publish-agent.ts';
import { createApiKey } from '#domain/workspaces/create-api-key.ts';
import { createWorkspace } from '#domain/workspaces/create-workspace.ts';
import type { RunningTemplate, RunOptions } from '#local/run-template.ts';
import { agents, apiKeys, clock, workspaces } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { useLocalTable } from '../../bin/operator.ts';
import { startSigningProxy } from './signing-proxy.ts';

export interface ServiceOptions
  extends Pick<
    RunOptions,
    | 'faults'
    | 'recordCalls'
    | 'maxConcurrency'
    | 'onLog'
    | 'clearAuthorizerCacheOnWrite'
    | 'secretValues'
    | 'timer'
    | 'waitMilliseconds'
  > {
  /** Of a stage with settings of its own; that of all tests unless given. */
  assembly?: string;
  /** Of the functions, in place of the template's, such as STREAM_TIMEOUT_SECONDS. */
  variables?: Record<string, string>;
  /** Kept when the service closes; a new one that goes with the service unless given. */
  dataDir?: string;
}

export interface Service {
  baseUrl: string;
  run: RunningTemplate;
  dataDir: string;
  /** Ends the run, and fails when a function did what AWS would not have let it do. */
  close(): Promise<void>;
}

const givenEmulator = process.env.AWS_ENDPOINT_URL_DYNAMODB;

/**
 * The whole service on this machine, on the real wires. The operator's stores keep to a test file's first one.
 * Without options it is the one that all such files share: starting one costs as much as a hundred requests.
 */
export const startService = (options?: ServiceOptions): Promise<Service> =>
  options === undefined ? joinService() : startOwnService(options);

async function joinService(): Promise<Service> {
  const { run, violationsUrl } = inject('sharedService');
  const dataDir = await mkdtemp(join(tmpdir(), 'service-data-'));
  useLocalTable(run.outputs.DataTableName ?? '', run.endpoints.dynamodb ?? '');
  const unshared = (): never => {
    throw new Error('This concerns all files that share the service: start one of its own, with options');
  };
  return {
    baseUrl: `${run.url}/v1`,
    run: {
      ...run,
      endpoints: run.endpoints as RunningTemplate['endpoints'],
      killWorkers: unshared,
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
  const { variables, dataDir: stored, ...others } = options;
  const dataDir = stored ?? (await mkdtemp(join(tmpdir(), 'service-data-')));
  // Files that share a service need nothing of the runner.
  const { runTemplate } = await import('#local/run-template.ts');
  // A file's second service works on the tables of its first, whose address is where the stores look.
  const first = process.env.AWS_ENDPOINT_URL_DYNAMODB;
  const proxy = first === undefined || first === givenEmulator ? undefined : await startSigningProxy(first);
  if (proxy !== undefined) process.env.AWS_ENDPOINT_URL_DYNAMODB = proxy.url;
  const run = await runTemplate({
    assembly: inject('assembly'),
    dataDir,
    port: 0,
    clearAuthorizerCacheOnWrite: true,
    onDenied: (message) => console.error(`Access denied. ${message}`),
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
      if (stored === undefined) await rm(dataDir, { recursive: true, force: true });
      rejectViolations(run.violations());
    },
  };
}

/** A later start must not take this run's engine for one that it was given. */
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
  /** Published, answered by the model given. */
  agentId: string;
}

/** What an operator's commands work with, on the table of the test file's first service. */
export const operator = () => ({
  agents: agents(),
  apiKeys: apiKeys(),
  clock,
  identifiers,
  workspaces: workspaces(),
});

/** A workspace of its own with a key and a published agent, so that no test meets another's data; without limits. */
export async function createTenant(
  options: {
    whitelist?: string[];
    model?: string;
    titles?: boolean;
    agent?: AgentFields;
    /** In place of the stage's, each as operators write it; `{}` holds the workspace to the stage's. */
    limits?: LimitTexts;
  } = {},
): Promise<Tenant> {
  const services = operator();
  const { id: workspaceId } = await createWorkspace(services)({
    name: 'Test',
    whitelistEnabled: options.whitelist !== undefined,
    limits: 'none',
  });
  if (options.limits !== undefined) await setLimits(workspaceId, options.limits);
  if (options.titles === false) await services.workspaces.update(workspaceId, { titlesEnabled: false });
  await services.workspaces.addToWhitelist(workspaceId, options.whitelist ?? []);
  const { apiKey, key } = await createApiKey(services)({ workspaceId, name: null, expiresAt: null });
  const fields = { ...(options.model !== undefined && { llm_model: options.model }), ...options.agent };
  return { workspaceId, apiKey, apiKeyId: key.id, agentId: await createPublishedAgent(workspaceId, fields) };
}

type LimitTexts = { [Name in keyof Limits]?: string };

/** Holds a workspace to the stage's limits but for these, and those that were set before. */
export async function setLimits(workspaceId: string, limits: LimitTexts): Promise<void> {
  const own = Object.entries(limits).map(([name, text]) => [
    name,
    name === 'openBatches' ? openBatchesLimit.parse(text) : rateLimit.parse(text),
  ]);
  await workspaces().update(workspaceId, { limits: 'default', ownLimits: Object.fromEntries(own) });
}

/** What a test says of an agent; the rest is as an operator's agent.json leaves it out. */
export type AgentFields = Partial<z.input<typeof agentDefinition>>;

export async function createPublishedAgent(workspaceId: string, fields: AgentFields = {}): Promise<string> {
  const agentId = await createDraftAgent(workspaceId, fields);
  await publishAgent(operator())(agentId);
  return agentId;
}

export async function createDraftAgent(workspaceId: string, fields: AgentFields = {}): Promise<string> {
  const definition = agentDefinition.parse({ name: 'Test agent', ...fields });
  return (await createAgent(operator())({ workspaceId, definition })).id;
}
