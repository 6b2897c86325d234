import process from 'node:process';
import { variables } from '#runtime/variables.ts';

/** Points the stores at a local run's table; in AWS the SDK finds account and region by itself. */
export function useLocalTable(table: string, endpoint: string): void {
  process.env[variables.dataTable] = table;
  process.env.AWS_ENDPOINT_URL_DYNAMODB = endpoint;
  process.env.AWS_REGION = 'us-east-1';
  process.env.AWS_ACCESS_KEY_ID = 'local';
  process.env.AWS_SECRET_ACCESS_KEY = 'local';
}
