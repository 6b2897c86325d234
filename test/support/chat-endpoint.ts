import { createHmac } from 'node:crypto';
import { gatewayHeaders, variables } from '#runtime/environment/variables.ts';
import type { Service, Tenant } from './service.ts';
import { largePools, type PoolSizes, readSecret, startWebFunction } from './upload-endpoint.ts';

/** Throws an error outside of any request when the process gets SIGUSR2. */
const faultyModule = `data:text/javascript,process.on('SIGUSR2', () => { throw new Error('Outside of any request'); })`;

/** Runs the web function of chats in its own process, on the stores of a running service. */
export async function startChatEndpoint(
  service: Service,
  modelUrl: string,
  poolSizes: PoolSizes = largePools,
) {
  const { outputs, physicalIds } = service.run;
  const secretArn = Object.entries(physicalIds).find(([id]) => id.startsWith('CallerSecret'))?.[1] ?? '';
  const own = {
    [variables.contentBucket]: outputs.ContentBucketName,
    [variables.callerSecret]: secretArn,
    [variables.authorizerCacheSeconds]: '60',
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
  };
  const execArgv = ['--import', faultyModule];
  const { port, child, exit, lines, close } = await startWebFunction(
    service,
    'serve-chats.ts',
    own,
    execArgv,
  );
  const currentSecret = await readSecret(service, secretArn);
  return {
    url: `http://127.0.0.1:${port}`,
    lines,
    /**
     * The headers that the gateway adds to a request of a tenant, or of a caller that the authorizer has rejected.
     * @param secret signs the caller; by default the current one
     */
    headersOf: (
      caller: Pick<Tenant, 'workspaceId' | 'apiKeyId'> | { rejection: string },
      secret = currentSecret,
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
    close,
  };
}

export type ChatEndpoint = Awaited<ReturnType<typeof startChatEndpoint>>;

/** A second implementation, so that a change of the form is seen. */
function sign(caller: object, secret: string): string {
  const text = Buffer.from(JSON.stringify(caller)).toString('base64url');
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}
