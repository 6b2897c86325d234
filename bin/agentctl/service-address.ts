import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isHttpUrl } from '#contract/urls.ts';
import { UsageError } from '../failures.ts';
import type { Connection } from '../local/connection.ts';
import { findRun, readOutputs, type TargetOptions } from './target.ts';

export interface ServiceAddress {
  baseUrl: string;
  key: string;
  /** Identifies the service in the journals of submissions. */
  identity: string;
  /** That of the local run, if neither an address nor a key is given. */
  demoAgent?: string;
}

export const withAddress = (command: Command): Command =>
  command
    .option(
      '--base-url <url>',
      'the base address, up to /api/v1; by default AGENT_SERVICE_URL, or else the local run',
    )
    .option('--key <key>', 'an API key; by default AGENT_SERVICE_KEY, or else that of the local run');

/** @throws Error such as for no running service; UsageError if there is no key or no valid address */
export async function findService(command: Command): Promise<ServiceAddress> {
  const options = command.optsWithGlobals<TargetOptions & { baseUrl?: string; key?: string }>();
  const configured =
    options.baseUrl ?? (await baseOfStack(options.stack)) ?? (process.env.AGENT_SERVICE_URL || undefined);
  const key = options.key ?? (process.env.AGENT_SERVICE_KEY || undefined);
  if (configured !== undefined) {
    const baseUrl = checkAddress(configured);
    // The key of a local run must not be sent to another service.
    if (key === undefined)
      throw new UsageError(`No key for ${baseUrl}: give --key, or set AGENT_SERVICE_KEY`);
    return { baseUrl, key, identity: baseUrl };
  }
  const connection = await connectionOf(options);
  return {
    baseUrl: checkAddress(connection.base_url),
    key: key ?? connection.api_key,
    identity: key === undefined ? connection.workspace_id : resolve(options.data),
    ...(key === undefined && { demoAgent: connection.agent_id }),
  };
}

export const baseAddressOf = async (target: TargetOptions): Promise<string> =>
  (await baseOfStack(target.stack)) ?? (await connectionOf(target)).base_url;

const connectionOf = ({ data }: TargetOptions): Promise<Connection> =>
  findRun(data, 'base_url', 'name one with --base-url and --key');

/** @throws UsageError if there is neither */
export function agentOf(agent: string | undefined, { demoAgent }: ServiceAddress): string {
  const found = agent ?? demoAgent;
  if (found === undefined) throw new UsageError('No agent: give --agent');
  return found;
}

async function baseOfStack(stack: string | undefined): Promise<string | undefined> {
  if (stack === undefined) return undefined;
  const address = (await readOutputs(stack))('BaseAddress');
  if (address === undefined) throw new Error(`The stack ${stack} has no output BaseAddress`);
  return address;
}

function checkAddress(text: string): string {
  if (!isHttpUrl(text)) throw new UsageError(`The base address ${text} is not an http or https address`);
  return text.replace(/\/+$/, '');
}
