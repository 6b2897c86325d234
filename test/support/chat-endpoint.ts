import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { gatewayHeaders, variables } from '#runtime/environment/variables.ts';
import type { Service, Tenant } from './service.ts';
import { findPort, largePools, listening, type PoolSizes } from './upload-endpoint.ts';

/** Throws an error outside of any request when the process gets SIGUSR2. */
const faultyModule = `data:text/javascript,process.on('SIGUSR2', () => { throw new Error('Outside of any request'); })`;

/** Runs the web function of chats in its own process, on the stores of a running service. */
export async function startChatEndpoint(
  service: Service,
  modelUrl: string,
  poolSizes: PoolSizes = largePools,
) {
  const { endpoints, outputs, physicalIds } = service.run;
  const secretArn = Object.entries(physicalIds).find(([id]) => id.startsWith('CallerSecret'))?.[1] ?? '';
  const port = await findPort();
  const lines: string[] = [];
  const child = spawn(
    process.execPath,
    ['--import', faultyModule, join(import.meta.dirname, '../../functions/web/serve-chats.ts')],
    {
      env: {
        // The process has the credentials of the local run's operator.
        ...process.env,
        AWS_ENDPOINT_URL_S3: endpoints.s3,
        AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoints.secretsmanager,
        [variables.contentBucket]: outputs.ContentBucketName,
        [variables.fileBucket]: outputs.FileBucketName,
        [variables.callerSecret]: secretArn,
        [variables.authorizerCacheSeconds]: '60',
        [variables.httpEndpoint]: `127.0.0.1:${port}`,
        [variables.metricsNamespace]: 'test',
        [variables.usageDays]: '400',
        [variables.openAiBaseUrl]: modelUrl,
        [variables.openAiApiKeySecret]: outputs.OpenAiApiKeySecretArn,
        [variables.streamTimeoutSeconds]: '60',
        [variables.leaseSeconds]: '60',
        [variables.plainReplySeconds]: '24',
        [variables.historyCharacters]: '100000',
        [variables.attachedFiles]: '10',
        [variables.replyBytes]: '1000000',
        [variables.replyModelCalls]: '10',
        [variables.replyToolUses]: '10',
        [variables.replyToolsAtOnce]: '5',
        [variables.poolSizes]: JSON.stringify(poolSizes),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const exit = once(child, 'exit');
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => lines.push(...text.split('\n')));
  await listening(port, child);
  const secrets = new SecretsManagerClient({ endpoint: endpoints.secretsmanager });
  const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId: secretArn }));
  return {
    url: `http://127.0.0.1:${port}`,
    lines,
    /**
     * The headers that the gateway adds to a request of a tenant, or of a caller that the authorizer has rejected.
     * @param secret signs the caller; by default the current one
     */
    headersOf: (
      caller: Pick<Tenant, 'workspaceId' | 'apiKeyId'> | { rejection: string },
      secret = SecretString,
    ) => ({
      [gatewayHeaders.signedCaller]: sign(
        'rejection' in caller ? caller : { workspaceId: caller.workspaceId, apiKeyId: caller.apiKeyId },
        secret,
      ),
      [gatewayHeaders.requestId]: crypto.randomUUID(),
      [gatewayHeaders.extendedRequestId]: crypto.randomUUID(),
    }),
    signal: (name: NodeJS.Signals) => void child.kill(name),
    exit,
    async close() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

export type ChatEndpoint = Awaited<ReturnType<typeof startChatEndpoint>>;

/** A second implementation, so that a change of the form is seen. */
function sign(caller: object, secret: string): string {
  const text = Buffer.from(JSON.stringify(caller)).toString('base64url');
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}
