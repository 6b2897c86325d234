import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { userInfo } from 'node:os';
import process from 'node:process';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { Credentials } from '#local/iam/signature.ts';
import { actAs } from '#runtime/environment/actor.ts';
import { waitLonger } from '#runtime/environment/client-timeouts.ts';
import { reservedMilliseconds, retryWhile } from '#runtime/environment/deadline-retries.ts';
import { lazily } from '#runtime/environment/lazily.ts';
import { variables } from '#runtime/environment/variables.ts';
import { UsageError } from './failures.ts';
import type { Connection } from './local/connection.ts';

/**
 * Seconds without any success after which calls to AWS are no longer retried: longer than a table needs to adapt to more load,
 * and than a busy machine leaves a local run without processor time.
 */
const defaultRetrySeconds = 120;

/** @throws UsageError */
function retrySeconds(): number {
  const text = process.env.AGENT_SERVICE_RETRY_SECONDS || String(defaultRetrySeconds);
  if (!/^\d{1,5}$/.test(text)) throw new UsageError('AGENT_SERVICE_RETRY_SECONDS must be whole seconds');
  return Number(text);
}

/** When a call to AWS has succeeded the last time, by `performance.now()`. */
const noteSuccesses = lazily(() => {
  const last: { success?: number } = {};
  subscribe('http.client.response.finish', (message) => {
    const { response } = message as { response: IncomingMessage };
    if ((response.statusCode ?? 0) < 400) last.success = performance.now();
  });
  return last;
});

/**
 * Calls to AWS may take long, and are retried as long as others succeed: for commands that nobody waits for. Before its first
 * success, a command fails soon: then the address or the credentials are wrong.
 * @throws UsageError for a wrong time in the environment
 */
export function beForOperators(): void {
  const patience = retrySeconds() * 1000 + reservedMilliseconds;
  const last = noteSuccesses();
  waitLonger();
  retryWhile(() => (last.success === undefined ? undefined : last.success + patience - performance.now()));
}

/** Points the stores at a local run's bucket. */
export function useLocalContents(bucket: string, endpoint: string): void {
  process.env[variables.contentBucket] = bucket;
  process.env.AWS_ENDPOINT_URL_S3 = endpoint;
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
  process.env[variables.dataTable] = table;
  process.env.AWS_ENDPOINT_URL_DYNAMODB = endpoint;
  process.env.AWS_REGION = 'us-east-1';
  process.env.AWS_ACCESS_KEY_ID = accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = secretAccessKey;
}

/** Points the client of the batch workflow at a local run's workflow. */
export function useLocalWorkflow(machineArn: string, endpoint: string): void {
  process.env[variables.batchWorkflowArn] = machineArn;
  process.env.AWS_ENDPOINT_URL_SFN = endpoint;
}

/** Points the clients of Secrets Manager and KMS at a local run. */
export function useLocalSecrets({
  caller_secret,
  authorizer_cache_seconds,
  secretsmanager_endpoint,
  webhook_key,
  kms_endpoint,
}: Connection): void {
  if (caller_secret !== undefined) process.env[variables.callerSecret] = caller_secret;
  if (authorizer_cache_seconds !== undefined)
    process.env[variables.authorizerCacheSeconds] = authorizer_cache_seconds;
  if (webhook_key !== undefined) process.env[variables.webhookKey] = webhook_key;
  if (secretsmanager_endpoint !== undefined)
    process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = secretsmanager_endpoint;
  if (kms_endpoint !== undefined) process.env.AWS_ENDPOINT_URL_KMS = kms_endpoint;
}

/** Points the client of Lambda at a local run. */
export function useLocalFunctions(testAgentFunction: string, endpoint: string): void {
  process.env[variables.testAgentFunction] = testAgentFunction;
  process.env.AWS_ENDPOINT_URL_LAMBDA = endpoint;
}

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}
