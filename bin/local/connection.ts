import { join } from 'node:path';
import { UnusableFolder } from '#local/data/lock.ts';
import { readState, writeState } from '#local/data/state-file.ts';
import type { Credentials } from '#local/iam/signature.ts';

/**
 * Resources and values of a stack that operators use. Each has an output, a field in connection.json, an environment
 * variable, and the service whose endpoint a local run stores with it.
 */
export const targetResources = [
  { output: 'DataTableName', field: 'data_table', variable: 'dataTable', service: 'dynamodb' },
  // For example, the knowledge of agents.
  { output: 'ContentBucketName', field: 'content_bucket', variable: 'contentBucket', service: 's3' },
  // Uploaded files.
  { output: 'FileBucketName', field: 'file_bucket', variable: 'fileBucket', service: 's3' },
  // `agentctl webhooks resend` starts an execution of it.
  { output: 'BatchWorkflowArn', field: 'batch_workflow', variable: 'batchWorkflowArn', service: 'sfn' },
  // `agentctl agents test` invokes it.
  {
    output: 'TestAgentFunctionArn',
    field: 'test_agent_function',
    variable: 'testAgentFunction',
    service: 'lambda',
  },
  // `agentctl secrets rotate caller` replaces it.
  { output: 'CallerSecretArn', field: 'caller_secret', variable: 'callerSecret', service: 'secretsmanager' },
  // How long the gateway caches signed callers.
  {
    output: 'AuthorizerCacheSeconds',
    field: 'authorizer_cache_seconds',
    variable: 'authorizerCacheSeconds',
    service: 'secretsmanager',
  },
  // The endpoints that agents may name after `openai@`.
  {
    output: 'OpenAiEndpoints',
    field: 'openai_endpoints',
    variable: 'openAiEndpoints',
    service: 'secretsmanager',
  },
  // Encrypts the addresses and secrets of webhooks.
  { output: 'WebhookKeyArn', field: 'webhook_key', variable: 'webhookKey', service: 'kms' },
  // Encrypts the secrets of tools.
  { output: 'ToolSecretKeyArn', field: 'tool_secret_key', variable: 'toolSecretKey', service: 'kms' },
  // The addresses that tools may call although they are not public.
  { output: 'ToolAllow', field: 'tool_allow', variable: 'toolAllow', service: 'kms' },
] as const;

type Resource = (typeof targetResources)[number];

/** The file `<data>/connection.json`, mode 0600: how clients and agentctl reach a local run. */
export interface Connection
  extends Partial<Record<Resource['field'] | `${Resource['service']}_endpoint`, string>> {
  /** The format of the data folder's files; undefined is 1. */
  data_format?: number;
  base_url: string;
  api_key: string;
  workspace_id: string;
  agent_id: string;
  chat_id: number;
  pid: number;
  /** With `secret_access_key`, the operator's credentials for the run's emulators; new at each start. */
  access_key_id?: string;
  secret_access_key?: string;
  /** Lets the playground list, read, write, test, publish and roll back agents; new at each start. */
  operator_token?: string;
  /** The name of the data table, for agentctl. */
  data_table: string;
  dynamodb_endpoint: string;
  /** The ids that agents may use as `knowledge_base_id`. */
  bedrock_knowledge_bases?: string[];
  /** The models that agents may use after `bedrock:`. */
  bedrock_models?: string[];
  /** The functions whose tools agents may have. */
  tool_functions?: string[];
}

const fileOf = (folder: string): string => join(folder, 'connection.json');

/**
 * Reads connection.json. Returns undefined if no run has written the file yet.
 * @throws UnreadableState
 */
export const readConnection = (folder: string): Promise<Connection | undefined> =>
  readState(fileOf(folder), readText);

/**
 * The format of the data folder's files, the only one that this version reads. Raise it with a change after which one
 * version cannot read the files of the other.
 */
export const dataFormat = 2;

export class PreviousFormat extends Error {}

/**
 * Checks that this version can read the files of a data folder.
 * @throws UnreadableState if connection.json is damaged; PreviousFormat if an earlier version has written files that
 * this version cannot read; UnusableFolder if a newer version has
 */
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

/** The models, knowledge bases and functions that the roles of the run may use. */
export const listedBy = (connection: Connection) => ({
  BedrockModels: connection.bedrock_models,
  BedrockKnowledgeBases: connection.bedrock_knowledge_bases,
  ToolFunctions: connection.tool_functions ?? [],
});

export const writeConnection = (folder: string, connection: Connection): Promise<void> =>
  writeState(fileOf(folder), `${JSON.stringify(connection, null, 2)}\n`);
