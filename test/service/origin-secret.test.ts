import { join } from 'node:path';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, inject, it, onTestFinished } from 'vitest';
import { originSecretHeader, viewerHostHeader } from '#runtime/environment/variables.ts';
import { clientOf } from '#support/client.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { webFunctions } from '#support/entry-points.ts';
import { createTenant, type Service, startService, type Tenant } from '#support/service.ts';
import { createChat } from '#support/turns.ts';
import { boundary, filePart, form, uploaderOf } from '#support/upload.ts';
import { startUploadEndpoint } from '#support/upload-endpoint.ts';
import { synthesize } from '../../bin/local/synthesize.ts';

const folder = await temporaryFolder('service-origin-secret-');

/** The service on one data folder, with this generation of the distribution's secret. */
async function startGeneration(originSecretGeneration: number): Promise<Service> {
  const own = join(folder, `generation-${originSecretGeneration}`);
  const assembly = originSecretGeneration === 1 ? inject('assembly') : own;
  if (assembly === own) await synthesize(own, { originSecretGeneration });
  return startService({ assembly, dataDir: join(folder, 'data') });
}

/** The values of a run, by generation. */
async function valuesOf({ run }: Service): Promise<Record<number, string>> {
  const secrets = new SecretsManagerClient({ endpoint: run.endpoints.secretsmanager });
  const values: Record<number, string> = {};
  for (const [id, SecretId] of Object.entries(run.physicalIds)) {
    const [, number] = /^OriginSecret(\d*)[0-9A-F]{8}$/.exec(id) ?? [];
    if (number === undefined) continue;
    const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId }));
    values[Number(number || 1)] = SecretString;
  }
  return values;
}

/** Whether a function behind the gateway believes the host of a request that has this value, as its links show. */
async function isBelieved({ run }: Service, { apiKey }: Tenant, value: string): Promise<boolean> {
  const response = await fetch(`${run.endpoints.gateway}/v1/chats?limit=1`, {
    headers: { 'x-api-key': apiKey, [originSecretHeader]: value, [viewerHostHeader]: 'viewer.example' },
  });
  expect(response.status).toBe(200);
  const { pagination } = (await response.json()) as { pagination: { next_page: string } };
  return new URL(pagination.next_page).host === 'viewer.example';
}

/** The response of the web function of uploads to a request that has this value; empty if it closed the connection. */
async function uploadWith(service: Service, { apiKey }: Tenant, value: string): Promise<string> {
  const endpoint = await startUploadEndpoint(service);
  try {
    const connection = await endpoint.connect();
    const body = form(filePart('a.txt', 'x'));
    connection.sendHead([
      [originSecretHeader, value],
      ['x-api-key', apiKey],
      ['Content-Type', `multipart/form-data; boundary=${boundary}`],
      ['Content-Length', String(body.length)],
      ['Connection', 'close'],
    ]);
    connection.socket.write(body);
    await connection.closed;
    return connection.received();
  } finally {
    await endpoint.close();
  }
}

it.runIf(webFunctions !== 'none')(
  'of the next generation is sent after a deployment, and those of the distribution before it are still accepted',
  async () => {
    let service = await startGeneration(1);
    onTestFinished(() => service.close());
    const tenant = await createTenant();
    for (let chat = 0; chat < 2; chat += 1) await createChat(clientOf(service, tenant), tenant);
    let values = await valuesOf(service);
    expect(Object.keys(values)).toEqual(['1', '2']);
    // What a deployment of the next generation sends.
    expect(await isBelieved(service, tenant, values[2] ?? '')).toBe(true);
    expect(await uploadWith(service, tenant, values[2] ?? '')).toContain('"error_code":0');

    for (const [generation, accepted, rejected] of [
      [2, [1, 2, 3], []],
      [3, [2, 3, 4], [1]],
    ] as const) {
      await service.close();
      service = await startGeneration(generation);
      const known = values;
      const current = await valuesOf(service);
      values = { ...known, ...current };
      // A generation keeps its value, whichever of the three it is.
      expect(values).toMatchObject(known);
      expect(Object.keys(current).map(Number)).toEqual(accepted);
      for (const each of accepted) {
        expect(await isBelieved(service, tenant, values[each] ?? ''), `${each} of ${generation}`).toBe(true);
        expect(await uploadWith(service, tenant, values[each] ?? '')).toContain('"error_code":0');
      }
      for (const each of rejected) {
        expect(await isBelieved(service, tenant, values[each] ?? ''), `${each} of ${generation}`).toBe(false);
        expect(await uploadWith(service, tenant, values[each] ?? '')).toBe('');
      }
      // Through the distribution.
      const { status } = await uploaderOf(service, tenant).file('a.txt', 'text');
      expect(status).toBe(200);
    }
  },
);
