import { resolve } from 'node:path';
import { actAs } from '#runtime/environment/actor.ts';
import { variables } from '#runtime/environment/variables.ts';
import { credentialsOf, readConnection } from '../local/connection.ts';
import { useLocalContents, useLocalTable, useLocalWorkflow } from '../operator.ts';
import { useKnowledgeBases } from './bedrock-knowledge-bases.ts';
import { useBedrockModels } from './bedrock-models.ts';

export interface TargetOptions {
  data: string;
  stack?: string;
}

/**
 * Connects the commands to a local run, or to a stack in AWS.
 * @throws Error if no run uses the data folder, or if the stack has no data table
 */
export async function useTarget({ data, stack }: TargetOptions): Promise<void> {
  if (stack !== undefined) {
    const outputOf = await readOutputs(stack);
    const table = outputOf('DataTableName');
    if (table === undefined) throw new Error(`The stack ${stack} has no output DataTableName`);
    const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
    const { Arn } = await new STSClient().send(new GetCallerIdentityCommand());
    actAs(Arn ?? 'unknown');
    process.env[variables.dataTable] = table;
    setVariable('batchWorkflowArn', outputOf('BatchWorkflowArn'));
    setVariable('contentBucket', outputOf('ContentBucketName'));
    setVariable('fileBucket', outputOf('FileBucketName'));
    useBedrockModels(listOf(outputOf('BedrockModels')));
    useKnowledgeBases(listOf(outputOf('BedrockKnowledgeBases')));
    return;
  }
  const connection = await readConnection(resolve(data));
  if (connection === undefined || !isRunning(connection.pid))
    throw new Error(`No service runs in ${data}: start one with npm start, or name a stack with --stack`);
  useLocalTable(connection.data_table, connection.dynamodb_endpoint, credentialsOf(connection));
  if (connection.content_bucket !== undefined && connection.s3_endpoint !== undefined)
    useLocalContents(connection.content_bucket, connection.s3_endpoint);
  setVariable('fileBucket', connection.file_bucket);
  if (connection.batch_workflow !== undefined && connection.sfn_endpoint !== undefined)
    useLocalWorkflow(connection.batch_workflow, connection.sfn_endpoint);
  useBedrockModels(connection.bedrock_models);
  useKnowledgeBases(connection.bedrock_knowledge_bases);
}

function setVariable(name: keyof typeof variables, value: string | undefined): void {
  if (value !== undefined) process.env[variables[name]] = value;
}

export async function readOutputs(stack: string): Promise<(name: string) => string | undefined> {
  const { CloudFormationClient, DescribeStacksCommand } = await import('@aws-sdk/client-cloudformation');
  const { Stacks = [] } = await new CloudFormationClient().send(
    new DescribeStacksCommand({ StackName: stack }),
  );
  return (name) => Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === name)?.OutputValue;
}

const listOf = (json: string | undefined): string[] | undefined =>
  json === undefined ? undefined : (JSON.parse(json) as string[]);

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
