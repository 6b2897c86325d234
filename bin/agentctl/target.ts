import { once } from 'node:events';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { clientTimeouts } from '#runtime/environment/environment.ts';
import { actAs } from '#runtime/environment/invocation-context.ts';
import { variables } from '#runtime/environment/variables.ts';
import {
  type Connection,
  credentialsOf,
  listedBy,
  readConnection,
  targetResources,
} from '../local/connection.ts';
import { beForOperators, useLocalResources, useLocalTable } from '../operator.ts';
import { useListed } from './read-agent.ts';

export interface TargetOptions {
  data: string;
  stack?: string;
}

/**
 * Call it before the first client of AWS is created.
 * @throws UsageError of `beForOperators`; Error such as for a data folder that no run uses, or for an unknown stack
 */
export async function useTarget({ data, stack }: TargetOptions): Promise<void> {
  beForOperators();
  if (stack !== undefined) {
    const outputOf = await readOutputs(stack);
    const table = outputOf('DataTableName');
    if (table === undefined) throw new Error(`The stack ${stack} has no output DataTableName`);
    const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
    const { Arn } = await new STSClient({ requestHandler: clientTimeouts }).send(
      new GetCallerIdentityCommand(),
    );
    actAs(Arn ?? 'unknown');
    for (const { output, variable } of targetResources) {
      const value = outputOf(output);
      if (value !== undefined) process.env[variables[variable]] = value;
    }
    useListed({
      BedrockModels: listOf(outputOf('BedrockModels')),
      BedrockKnowledgeBases: listOf(outputOf('BedrockKnowledgeBases')),
      ToolFunctions: listOf(outputOf('ToolFunctions') ?? '[]'),
    });
    return;
  }
  const connection = await findRun(data, 'dynamodb_endpoint', 'name a stack with --stack');
  useLocalTable(connection.data_table, connection.dynamodb_endpoint, credentialsOf(connection));
  useLocalResources(connection);
  useListed(listedBy(connection));
}

export async function readOutputs(stack: string): Promise<(name: string) => string | undefined> {
  const { CloudFormationClient, DescribeStacksCommand } = await import('@aws-sdk/client-cloudformation');
  const client = new CloudFormationClient({ requestHandler: clientTimeouts });
  const { Stacks = [] } = await client
    .send(new DescribeStacksCommand({ StackName: stack }))
    .catch(async (error: Error) => {
      if (error.name !== 'ValidationError' || !error.message.includes('does not exist')) throw error;
      const region = await client.config.region();
      throw new Error(
        `There is no stack ${stack} in ${region}: check the name (agent-service-STAGE), AWS_REGION and the account`,
      );
    });
  return (name) => Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === name)?.OutputValue;
}

const listOf = (json: string | undefined): string[] | undefined =>
  json === undefined ? undefined : (JSON.parse(json) as string[]);

/** @throws Error, for example if no run uses the folder */
export async function findRun(
  data: string,
  endpoint: 'base_url' | 'dynamodb_endpoint',
  instead: string,
): Promise<Connection> {
  const connection = await readConnection(resolve(data));
  if (connection !== undefined && (await serves(connection.pid, connection[endpoint]))) return connection;
  throw new Error(`No service runs in ${data}: start one with npm start, or ${instead}`);
}

/** Another program may have the process id of a killed run, so the port is tried too. */
async function serves(pid: number, endpoint: string): Promise<boolean> {
  if (!isRunning(pid)) return false;
  const { hostname, port } = new URL(endpoint);
  const socket = connect(Number(port), hostname);
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
