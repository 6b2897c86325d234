import { join } from 'node:path';
import { readState, writeState } from '#local/data/state-file.ts';
import type { Credentials } from '#local/iam/signature.ts';

/** What a local run tells to whoever may read its data folder: `<data>/connection.json`, mode 0600. */
export interface Connection {
  base_url: string;
  api_key: string;
  workspace_id: string;
  agent_id: string;
  chat_id: number;
  pid: number;
  /** What the run's emulators take from whoever operates it; drawn at each start. */
  access_key_id?: string;
  secret_access_key?: string;
  /** Where agentctl finds the table. */
  data_table: string;
  dynamodb_endpoint: string;
  /** Where agentctl finds what agents look things up in. */
  content_bucket?: string;
  s3_endpoint?: string;
  /** Where agentctl starts what sends a webhook again. */
  batch_workflow?: string;
  sfn_endpoint?: string;
  /** What agents may name as `knowledge_base_id`. */
  bedrock_knowledge_bases?: string[];
  /** What agents may name behind `bedrock:`. */
  bedrock_models?: string[];
}

const fileOf = (folder: string): string => join(folder, 'connection.json');

/**
 * Undefined when no run has written one yet.
 * @throws UnreadableState
 */
export const readConnection = (folder: string): Promise<Connection | undefined> =>
  readState(fileOf(folder), readText);

function readText(text: string): Connection {
  const connection: unknown = JSON.parse(text);
  if (typeof connection !== 'object' || connection === null) throw new Error('it holds nothing');
  return connection as Connection;
}

export const credentialsOf = ({
  access_key_id: accessKeyId = '',
  secret_access_key: secretAccessKey = '',
}: Connection): Credentials => ({ accessKeyId, secretAccessKey });

export const writeConnection = (folder: string, connection: Connection): Promise<void> =>
  writeState(fileOf(folder), `${JSON.stringify(connection, null, 2)}\n`);
