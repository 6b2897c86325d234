import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { userInfo } from 'node:os';
import process from 'node:process';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { Credentials } from '#local/iam/signature.ts';
import { lazily, reservedMilliseconds, retryWhile, waitLonger } from '#runtime/environment/environment.ts';
import { actAs } from '#runtime/environment/invocation-context.ts';
import { variables } from '#runtime/environment/variables.ts';
import { UsageError } from './failures.ts';
import { type Connection, targetResources } from './local/connection.ts';

/** Seconds after the last success until which calls to AWS are retried, such as while a table adapts to more load. */
const defaultRetrySeconds = 120;

/**
 * The variable AGENT_SERVICE_RETRY_SECONDS, by default `defaultRetrySeconds`.
 * @throws UsageError if the variable is not a whole number of at most five digits
 */
function retrySeconds(): number {
  const text = process.env.AGENT_SERVICE_RETRY_SECONDS || String(defaultRetrySeconds);
  if (!/^\d{1,5}$/.test(text)) throw new UsageError('AGENT_SERVICE_RETRY_SECONDS must be whole seconds');
  return Number(text);
}

/**
 * Returns an object with the time, by `performance.now()`, of the last response of `node:http` with a status below 400.
 * The AWS SDK uses `node:http`.
 */
const noteSuccesses = lazily(() => {
  const last: { success?: number } = {};
  subscribe('http.client.response.finish', (message) => {
    const { response } = message as { response: IncomingMessage };
    if ((response.statusCode ?? 0) < 400) last.success = performance.now();
  });
  return last;
});

/**
 * Prepares this process for a command of an operator, for which no client waits: calls to AWS may take long, and are
 * retried until `retrySeconds` after the last success. Without any success a command fails soon, because its address or
 * its credentials may be wrong.
 * @throws UsageError for a wrong time in the environment
 */
export function beForOperators(): void {
  const patience = retrySeconds() * 1000 + reservedMilliseconds;
  const last = noteSuccesses();
  waitLonger();
  retryWhile(() => (last.success === undefined ? undefined : last.success + patience - performance.now()));
}

const endpointVariable = (service: (typeof targetResources)[number]['service']): string =>
  `AWS_ENDPOINT_URL_${service === 'secretsmanager' ? 'SECRETS_MANAGER' : service.toUpperCase()}`;

/** Points the stores and clients at the resources and emulators of a local run. */
export function useLocalResources(connection: Partial<Connection>): void {
  for (const { field, variable, service } of targetResources) {
    const { [field]: address, [`${service}_endpoint` as const]: endpoint } = connection;
    if (address !== undefined) process.env[variables[variable]] = address;
    if (endpoint !== undefined) process.env[endpointVariable(service)] = endpoint;
  }
  if (connection.s3_endpoint === undefined) return;
  // The emulator of S3 would store the framing of an upload with checksums as part of the object.
  process.env.AWS_REQUEST_CHECKSUM_CALCULATION = 'WHEN_REQUIRED';
  process.env.AWS_RESPONSE_CHECKSUM_VALIDATION = 'WHEN_REQUIRED';
}

/**
 * Points the stores at a local run's table. The audit log then names this machine's user as the operator.
 * @param credentials of the run; by default those of a run in this process
 */
export function useLocalTable(
  table: string,
  endpoint: string,
  { accessKeyId, secretAccessKey }: Credentials = operatorCredentials,
): void {
  actAs(`local user ${userName()}`);
  useLocalResources({ data_table: table, dynamodb_endpoint: endpoint });
  process.env.AWS_REGION = 'us-east-1';
  process.env.AWS_ACCESS_KEY_ID = accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = secretAccessKey;
}

/** Points the client of Lambda at a local run. */
export const useLocalFunctions = (testAgentFunction: string, endpoint: string): void =>
  useLocalResources({ test_agent_function: testAgentFunction, lambda_endpoint: endpoint });

/** The name of this machine's user, or else the user's id: a container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}
