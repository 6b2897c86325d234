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

/** In seconds. Failed calls to AWS may be retried for this time after the last success. */
const defaultRetrySeconds = 120;

function retrySeconds(): number {
  const text = process.env.AGENT_SERVICE_RETRY_SECONDS || String(defaultRetrySeconds);
  if (!/^\d{1,5}$/.test(text)) throw new UsageError('AGENT_SERVICE_RETRY_SECONDS must be whole seconds');
  return Number(text);
}

/** When a response of `node:http`, which the AWS SDK uses, last had a status below 400. */
const noteSuccesses = lazily(() => {
  const last: { success?: number } = {};
  subscribe('http.client.response.finish', (message) => {
    const { response } = message as { response: IncomingMessage };
    if ((response.statusCode ?? 0) < 400) last.success = performance.now();
  });
  return last;
});

/**
 * No client waits for a command of an operator, so calls to AWS may take long. Until a first call succeeds, each has
 * only a few attempts, because the address or the credentials may be wrong. Call it before the first client of AWS is
 * created.
 * @throws UsageError for a wrong AGENT_SERVICE_RETRY_SECONDS
 */
export function beForOperators(): void {
  const patience = retrySeconds() * 1000 + reservedMilliseconds;
  const last = noteSuccesses();
  waitLonger();
  retryWhile(() => (last.success === undefined ? undefined : last.success + patience - performance.now()));
}

const endpointVariable = (service: (typeof targetResources)[number]['service']): string =>
  `AWS_ENDPOINT_URL_${service === 'secretsmanager' ? 'SECRETS_MANAGER' : service.toUpperCase()}`;

export function useLocalResources(connection: Partial<Connection>): void {
  for (const { field, variable, service } of targetResources) {
    const { [field]: address, [`${service}_endpoint` as const]: endpoint } = connection;
    if (address !== undefined) process.env[variables[variable]] = address;
    if (endpoint !== undefined) process.env[endpointVariable(service)] = endpoint;
  }
  if (connection.s3_endpoint === undefined) return;
  // The emulator of S3 rejects a streamed upload with a checksum.
  process.env.AWS_REQUEST_CHECKSUM_CALCULATION = 'WHEN_REQUIRED';
  process.env.AWS_RESPONSE_CHECKSUM_VALIDATION = 'WHEN_REQUIRED';
}

/**
 * The audit log then names this machine's user as the operator.
 * @param credentials by default those of a run in this process
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

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}
