import { resolve } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { variables } from '#runtime/variables.ts';
import { readConnection } from '../local/connection.ts';
import { useLocalTable } from '../operator.ts';

export interface TargetOptions {
  data: string;
  stack?: string;
}

/** Points the stores at the table of a local run, or of a stack in AWS. */
export async function useTarget({ data, stack }: TargetOptions): Promise<void> {
  if (stack !== undefined) {
    process.env[variables.dataTable] = await tableOf(stack);
    return;
  }
  const connection = await readConnection(resolve(data));
  if (connection === undefined || !isRunning(connection.pid))
    throw new Error(`No service runs in ${data}: start one with npm start, or name a stack with --stack`);
  useLocalTable(connection.data_table, connection.dynamodb_endpoint);
}

async function tableOf(stack: string): Promise<string> {
  const { Stacks = [] } = await new CloudFormationClient().send(
    new DescribeStacksCommand({ StackName: stack }),
  );
  const output = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === 'DataTableName');
  if (output?.OutputValue === undefined) throw new Error(`The stack ${stack} has no output DataTableName`);
  return output.OutputValue;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
