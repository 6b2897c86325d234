import { join } from 'node:path';
import { UnusableFolder } from '#local/data/lock.ts';
import { readState, writeState } from '#local/data/state-file.ts';
import type { Credentials } from '#local/iam/signature.ts';

/** The file `<data>/connection.json`, mode 0600: how clients and agentctl reach a local run. */
export interface Connection {
  /** The format of the data folder's files; undefined is 1. */
  data_format?: number;
  base_url: string;
  api_key: string;
  workspace_id: string;
  agent_id: string;
  chat_id: number;
  pid: number;
  /** The operator's credentials for the run's emulators; new at each start. */
  access_key_id?: string;
  secret_access_key?: string;
  /** Lets the playground write agents; new at each start. */
  operator_token?: string;
  /** The data table, for agentctl. */
  data_table: string;
  dynamodb_endpoint: string;
  /** The bucket with the knowledge of agents, for agentctl. */
  content_bucket?: string;
  /** The bucket with uploaded files, for agentctl. */
  file_bucket?: string;
  s3_endpoint?: string;
  /** The workflow that agentctl starts to resend a webhook. */
  batch_workflow?: string;
  sfn_endpoint?: string;
  /** The function that `agentctl agents test` invokes. */
  test_agent_function?: string;
  lambda_endpoint?: string;
  /** The secret that `agentctl secrets rotate caller` replaces. */
  caller_secret?: string;
  /** How long the gateway caches signed callers. */
  authorizer_cache_seconds?: string;
  secretsmanager_endpoint?: string;
  /** The key that encrypts the addresses and secrets of webhooks. */
  webhook_key?: string;
  kms_endpoint?: string;
  /** The ids that agents may use as `knowledge_base_id`. */
  bedrock_knowledge_bases?: string[];
  /** The models that agents may use after `bedrock:`. */
  bedrock_models?: string[];
}

const fileOf = (folder: string): string => join(folder, 'connection.json');

/**
 * Returns undefined if no run has written the file yet.
 * @throws UnreadableState
 */
export const readConnection = (folder: string): Promise<Connection | undefined> =>
  readState(fileOf(folder), readText);

/** Raise it if earlier versions cannot read the files of a run any more. This version reads this format alone. */
export const dataFormat = 2;

export class PreviousFormat extends Error {}

/**
 * @throws UnusableFolder if a newer version has written files that this version cannot read; PreviousFormat if an earlier
 * one has
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

export const writeConnection = (folder: string, connection: Connection): Promise<void> =>
  writeState(fileOf(folder), `${JSON.stringify(connection, null, 2)}\n`);
