import { join } from 'node:path';
import { UnusableFolder } from '#local/data/lock.ts';
import { readState, writeState } from '#local/data/state-file.ts';
import type { Credentials } from '#local/iam/signature.ts';

export const targetResources = [
  { output: 'DataTableName', field: 'data_table', variable: 'dataTable', service: 'dynamodb' },
  { output: 'ContentBucketName', field: 'content_bucket', variable: 'contentBucket', service: 's3' },
  { output: 'FileBucketName', field: 'file_bucket', variable: 'fileBucket', service: 's3' },
  { output: 'BatchWorkflowArn', field: 'batch_workflow', variable: 'batchWorkflowArn', service: 'sfn' },
  {
    output: 'TestAgentFunctionArn',
    field: 'test_agent_function',
    variable: 'testAgentFunction',
    service: 'lambda',
  },
  { output: 'CallerSecretArn', field: 'caller_secret', variable: 'callerSecret', service: 'secretsmanager' },
  {
    output: 'AuthorizerCacheSeconds',
    field: 'authorizer_cache_seconds',
    variable: 'authorizerCacheSeconds',
    service: 'secretsmanager',
  },
  {
    output: 'OpenAiEndpoints',
    field: 'openai_endpoints',
    variable: 'openAiEndpoints',
    service: 'secretsmanager',
  },
  { output: 'WebhookKeyArn', field: 'webhook_key', variable: 'webhookKey', service: 'kms' },
  { output: 'ToolSecretKeyArn', field: 'tool_secret_key', variable: 'toolSecretKey', service: 'kms' },
  { output: 'ToolAllow', field: 'tool_allow', variable: 'toolAllow', service: 'kms' },
] as const;

type Resource = (typeof targetResources)[number];

/** The content of `<data>/connection.json`. */
export interface Connection
  extends Partial<Record<Resource['field'] | `${Resource['service']}_endpoint`, string>> {
  /** Undefined is 1. */
  data_format?: number;
  base_url: string;
  api_key: string;
  workspace_id: string;
  agent_id: string;
  chat_id: number;
  pid: number;
  access_key_id?: string;
  secret_access_key?: string;
  /** For the playground's calls of an operator. New at each start. */
  operator_token?: string;
  data_table: string;
  dynamodb_endpoint: string;
  bedrock_knowledge_bases?: string[];
  bedrock_models?: string[];
  tool_functions?: string[];
}

const fileOf = (folder: string): string => join(folder, 'connection.json');

/**
 * @returns undefined if there is no file
 * @throws UnreadableState
 */
export const readConnection = (folder: string): Promise<Connection | undefined> =>
  readState(fileOf(folder), readText);

/**
 * The only format of the data folder that this version reads. Raise it with a change after which one version cannot
 * read the files of the other.
 */
export const dataFormat = 2;

export class PreviousFormat extends Error {}

/** @throws UnreadableState of `readConnection`; PreviousFormat for an earlier format; UnusableFolder for a newer one */
export async function rejectOtherFormats(folder: string): Promise<void> {
  const connection = await readConnection(folder);
  const { data_format: format = 1 } = connection ?? { data_format: dataFormat };
  if (format < dataFormat) throw new PreviousFormat(`The data folder ${folder} is of an earlier version`);
  if (format > dataFormat)
    throw new UnusableFolder(
      folder,
      `is of a newer version of this service: its format is ${format}, and this version reads ${dataFormat}`,
    );
}

function readText(text: string): Connection {
  const connection: unknown = JSON.parse(text);
  if (typeof connection !== 'object' || connection === null) throw new Error('it has no content');
  return connection as Connection;
}

export const credentialsOf = ({
  access_key_id: accessKeyId = '',
  secret_access_key: secretAccessKey = '',
}: Connection): Credentials => ({ accessKeyId, secretAccessKey });

export const listedBy = (connection: Connection) => ({
  BedrockModels: connection.bedrock_models,
  BedrockKnowledgeBases: connection.bedrock_knowledge_bases,
  ToolFunctions: connection.tool_functions ?? [],
});

export const writeConnection = (folder: string, connection: Connection): Promise<void> =>
  writeState(fileOf(folder), `${JSON.stringify(connection, null, 2)}\n`);
