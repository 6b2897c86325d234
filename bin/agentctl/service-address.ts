import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readConnection } from '../local/connection.ts';
import { isRunning, readOutputs, type TargetOptions } from './target.ts';

/** Where a client command goes. */
export interface ServiceAddress {
  baseUrl: string;
  key: string;
  /** Tells one service from another, also when a local run comes back on another port. */
  identity: string;
  /** The demo agent of a local run. */
  demoAgent?: string;
}

interface AddressOptions extends TargetOptions {
  baseUrl?: string;
  key?: string;
}

export const withAddress = (command: Command): Command =>
  command
    .option(
      '--base-url <url>',
      'where the service is, up to /api/v1; else AGENT_SERVICE_URL, else the local run',
    )
    .option('--key <key>', 'an API key; else AGENT_SERVICE_KEY, else that of the local run');

/** Of the options, else of the environment, else of the local run's connection.json. */
export async function findService(command: Command): Promise<ServiceAddress> {
  const options = command.optsWithGlobals<AddressOptions>();
  const given =
    options.baseUrl ?? (await baseOfStack(options.stack)) ?? (process.env.AGENT_SERVICE_URL || undefined);
  const key = options.key ?? (process.env.AGENT_SERVICE_KEY || undefined);
  if (given !== undefined) {
    const baseUrl = checkAddress(given);
    // A local run's key is not sent elsewhere.
    if (key === undefined) throw new Error(`No key for ${baseUrl}: give --key, or set AGENT_SERVICE_KEY`);
    return { baseUrl, key, identity: baseUrl };
  }
  const connection = await readConnection(resolve(options.data));
  if (connection === undefined || !isRunning(connection.pid))
    throw new Error(
      `No service runs in ${options.data}: start one with npm start, or name one with --base-url and --key`,
    );
  return {
    baseUrl: checkAddress(connection.base_url),
    key: key ?? connection.api_key,
    identity: key === undefined ? connection.workspace_id : resolve(options.data),
    ...(key === undefined && { demoAgent: connection.agent_id }),
  };
}

/** The agent to talk to: the one named, or the demo agent of a local run. */
export function agentOf(agent: string | undefined, { demoAgent }: ServiceAddress): string {
  const found = agent ?? demoAgent;
  if (found === undefined) throw new Error('No agent: give --agent');
  return found;
}

async function baseOfStack(stack: string | undefined): Promise<string | undefined> {
  if (stack === undefined) return undefined;
  const address = (await readOutputs(stack))('BaseAddress');
  if (address === undefined) throw new Error(`The stack ${stack} has no output BaseAddress`);
  return address;
}

function checkAddress(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new Error(`The base address ${text} is no http or https address`);
  return text.replace(/\/+$/, '');
}
