import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What a local run tells to whoever may read its data folder: `<data>/connection.json`, mode 0600. */
export interface Connection {
  base_url: string;
  api_key: string;
  workspace_id: string;
  agent_id: string;
  chat_id: number;
  pid: number;
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

/** Undefined when no run has written one yet. */
export async function readConnection(folder: string): Promise<Connection | undefined> {
  try {
    return JSON.parse(await readFile(fileOf(folder), 'utf8')) as Connection;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export const writeConnection = (folder: string, connection: Connection): Promise<void> =>
  writeFile(fileOf(folder), `${JSON.stringify(connection, null, 2)}\n`, { mode: 0o600 });
