import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, vi } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { startChatEndpoint } from '#support/chat-endpoint.ts';
import { clientOf } from '#support/client.ts';
import { ended } from '#support/command-end.ts';
import { webFunctions } from '#support/entry-points.ts';
import { createTenant, type Tenant } from '#support/service.ts';
import { createChat, send } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';

// As in AWS, the gateway sends a cached signature whatever an operator writes.
const service = await useService({ clearAuthorizerCacheOnWrite: false });

/** Sends in one chat after another message until it is stopped. A send whose signature is rejected gets a 5xx. */
async function startSending(tenant: Tenant) {
  const client = clientOf(service, tenant);
  const chatId = await createChat(client, tenant);
  const statuses: number[] = [];
  let isStopped = false;
  const ended = (async () => {
    while (!isStopped) statuses.push((await send(client, tenant, chatId, 'Hello')).status);
  })();
  return {
    /** Waits until so many more messages have been sent. */
    more: (count: number, until = statuses.length + count) =>
      vi.waitFor(() => expect(statuses.length).toBeGreaterThanOrEqual(until), 60_000),
    async stop(): Promise<number[]> {
      isStopped = true;
      await ended;
      return [...new Set(statuses)];
    },
  };
}

/** Sends as a caller whom the authorizer has not signed yet. */
const sendOnce = async (): Promise<number> => {
  const tenant = await createTenant();
  const client = clientOf(service, tenant);
  return (await send(client, tenant, await createChat(client, tenant), 'Hello')).status;
};

async function valueAt(VersionStage: 'AWSCURRENT' | 'AWSPREVIOUS'): Promise<string> {
  const { endpoints, outputs } = service.run;
  const secrets = new SecretsManagerClient({ endpoint: endpoints.secretsmanager });
  const SecretId = outputs.CallerSecretArn;
  const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId, VersionStage }));
  return SecretString;
}

/** The status of a request that is signed with this value. */
async function statusOfSigned(values: readonly string[]): Promise<number[]> {
  const tenant = await createTenant();
  const endpoint = await startChatEndpoint(service, 'http://127.0.0.1:9');
  const statuses = values.map(async (value) => {
    const response = await fetch(`${endpoint.url}/chats`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...endpoint.headersOf(tenant, value) },
      body: JSON.stringify({ name: 'A chat', agent_id: tenant.agentId }),
    });
    return response.status;
  });
  return Promise.all(statuses).finally(endpoint.close);
}

const rotate = (...options: string[]) => agentctlOf(service).run('secrets', 'rotate', 'caller', ...options);

describe.runIf(webFunctions === 'all')('agentctl secrets rotate caller', () => {
  it('rejects no send, whichever of the functions read the secret before and which after', async () => {
    const sending = await startSending(await createTenant());
    await sending.more(3);
    const before = await valueAt('AWSCURRENT');
    expect(await rotate()).toMatchObject({ code: 0 });
    expect(await valueAt('AWSPREVIOUS')).toBe(before);
    expect(await valueAt('AWSCURRENT')).toMatch(/^[\w-]{43}$/);
    await sending.more(3);
    // A new authorizer knows the new value, and the web function does not.
    service.run.killWorkers('AuthorizeRequest');
    expect(await sendOnce()).toBe(200);
    await sending.more(3);
    expect(await sending.stop()).toEqual([200]);

    // A new web function knows both, and the gateway still sends what the old authorizer has signed.
    service.run.killWorkers('Chats');
    expect(await sendOnce()).toBe(200);
    expect(await statusOfSigned([before, await valueAt('AWSCURRENT'), 'x'.repeat(43)])).toEqual([
      200, 200, 403,
    ]);
  });

  it('rejects a second rotation while callers with the first value may be on their way', async () => {
    const current = await valueAt('AWSCURRENT');
    const { code, stderr } = await rotate();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The secret was rotated at 2\S+Z, .* Rotate again in 4\d\d s, or use --force$/m);
    expect(await valueAt('AWSCURRENT')).toBe(current);
  });

  it('rotates at once with --force', async () => {
    const current = await valueAt('AWSCURRENT');
    expect(await rotate()).toMatchObject({ code: 1 });
    expect(await rotate('--force')).toMatchObject({ code: 0 });
    expect(await valueAt('AWSPREVIOUS')).toBe(current);
  });

  it('says where the other secret is rotated', async () => {
    expect(await agentctlOf(service).run('secrets', 'rotate', 'origin')).toMatchObject(ended(2, /caller/));
    const { stdout } = await agentctlOf(service).run('secrets', 'rotate', '--help');
    expect(stdout).toContain('originSecretGeneration');
  });
});
