import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { startChatEndpoint } from '#support/chat-endpoint.ts';
import { clientOf } from '#support/client.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { ended } from '#support/command-end.ts';
import { webFunctions } from '#support/entry-points.ts';
import { createTenant, type Service, startService, type Tenant } from '#support/service.ts';
import { createChat, send } from '#support/turns.ts';

const dataDir = await temporaryFolder('service-caller-secret-');
let service: Service;
// As in AWS, the gateway sends a cached signature whatever an operator writes.
const start = async () => {
  service = await startService({ dataDir, clearAuthorizerCacheOnWrite: false });
};
/** Created at the start: the stores of this process use the table of the first run. */
let tenants: Tenant[];
beforeAll(async () => {
  await start();
  tenants = await Promise.all(Array.from({ length: 8 }, () => createTenant()));
});
afterAll(() => service.close());

/** Starts the service anew, after so many minutes for Secrets Manager. */
async function restartAfter(minutes: number): Promise<void> {
  await service.close();
  const file = join(dataDir, 'secrets.json');
  const stored = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
  for (const [name, text] of Object.entries(stored)) {
    if (!name.endsWith('.versions')) continue;
    const versions = JSON.parse(text) as Record<string, { createdAt: number }>;
    for (const version of Object.values(versions)) version.createdAt -= minutes * 60;
    stored[name] = JSON.stringify(versions);
  }
  await writeFile(file, JSON.stringify(stored));
  await start();
}

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

/** A caller whom the authorizer has not signed yet. */
const newcomer = (): Tenant => {
  const tenant = tenants.pop();
  if (tenant === undefined) throw new Error('Create more tenants');
  return tenant;
};

const sendOnce = async (): Promise<number> => {
  const tenant = newcomer();
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
  const tenant = newcomer();
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
    const sending = await startSending(newcomer());
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
    await restartAfter(7);
    expect(await valueAt('AWSCURRENT')).toBe(current);
    expect((await rotate()).stderr).toMatch(/Rotate again in \d\d s/);
  });

  it('ends the previous value after the times of all caches, and then rotates again', async () => {
    const [current, previous] = [await valueAt('AWSCURRENT'), await valueAt('AWSPREVIOUS')];
    expect(await statusOfSigned([current, previous])).toEqual([200, 200]);
    await restartAfter(2);
    expect(await statusOfSigned([current, previous])).toEqual([200, 403]);
    // The authorizer signs with the new value: the web function accepts no other.
    expect(await sendOnce()).toBe(200);
    expect(await rotate()).toMatchObject({ code: 0 });
    expect(await valueAt('AWSPREVIOUS')).toBe(current);
    expect(await sendOnce()).toBe(200);
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
