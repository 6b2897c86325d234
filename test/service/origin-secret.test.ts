import { join } from 'node:path';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { expect, inject, it, onTestFinished } from 'vitest';
import { originSecretHeader, viewerHostHeader } from '#runtime/environment/variables.ts';
import { requestsOf, submit, waitForBatchEnd } from '#support/batches.ts';
import { clientOf } from '#support/client.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { webFunctions } from '#support/entry-points.ts';
import { createTenant, type Service, startService, type Tenant } from '#support/service.ts';
import { createChat, send } from '#support/turns.ts';
import { boundary, filePart, form, uploadText } from '#support/upload.ts';
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
  for (const [number, SecretId] of idsOf({ run })) {
    const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId }));
    values[number] = SecretString;
  }
  return values;
}

/** The ARNs of a run's secrets, by generation. */
const idsOf = ({ run }: Pick<Service, 'run'>): Map<number, string> =>
  new Map(
    Object.entries(run.physicalIds).flatMap(([id, arn]) => {
      const [, number] = /^OriginSecret(\d*)[0-9A-F]{8}$/.exec(id) ?? [];
      return number === undefined ? [] : [[Number(number || 1), arn] as const];
    }),
  );

async function uploadThroughDistribution({ baseUrl }: Service, tenant: Tenant): Promise<number> {
  return (await uploadText(clientOf({ baseUrl }, tenant), 'a.txt')).status;
}

/** Creates what each list needs for a second page. Returns the paths of the lists. */
async function fillLists(service: Service, tenant: Tenant): Promise<string[]> {
  const client = clientOf(service, tenant);
  const [chatId = 0] = [await createChat(client, tenant), await createChat(client, tenant)];
  expect((await send(client, tenant, chatId, 'Hello')).status).toBe(200);
  const batch = () => submit(client, tenant, requestsOf(2));
  const [{ id }] = [await batch(), await batch()];
  await waitForBatchEnd(client, id);
  return [
    '/chats?',
    `/chats/${chatId}/messages?external_user_id=anyone&`,
    '/batches?',
    `/batches/${id}/results?`,
  ];
}

/** Whether the functions behind the gateway believe the host of a request that has this value, as their links show. */
async function believers({ run }: Service, { apiKey, lists }: Lists, value: string): Promise<boolean[]> {
  return Promise.all(
    lists.map(async (path) => {
      const response = await fetch(`${run.endpoints.gateway}/v1${path}limit=1`, {
        headers: { 'x-api-key': apiKey, [originSecretHeader]: value, [viewerHostHeader]: 'viewer.example' },
      });
      expect(response.status).toBe(200);
      const { pagination } = (await response.json()) as { pagination: { next_page: string } };
      return new URL(pagination.next_page).host === 'viewer.example';
    }),
  );
}

type Lists = Pick<Tenant, 'apiKey'> & { lists: readonly string[] };
const all = Array(4).fill(true);
const none = Array(4).fill(false);

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

/** Three generations of a stage start one after the other. */
it.runIf(webFunctions !== 'none' && process.env.SOAK !== undefined)(
  'of the next generation is sent after a deployment, and those of the distribution before it are still accepted',
  async () => {
    let service = await startGeneration(1);
    onTestFinished(() => service.close());
    const tenant = await createTenant();
    const lists = { apiKey: tenant.apiKey, lists: await fillLists(service, tenant) };
    let values = await valuesOf(service);
    expect(Object.keys(values)).toEqual(['1', '2']);
    // What a deployment of the next generation sends.
    expect(await believers(service, lists, values[2] ?? '')).toEqual(all);
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
      for (const each of [...accepted, ...rejected]) {
        const isAccepted = (accepted as readonly number[]).includes(each);
        const believed = await believers(service, lists, values[each] ?? '');
        expect(believed, `${each} of ${generation}`).toEqual(isAccepted ? all : none);
        const response = await uploadWith(service, tenant, values[each] ?? '');
        expect(response).toMatch(isAccepted ? /"error_code":0/ : /^HTTP\/1.1 403 /);
      }
      // Through the distribution.
      expect(await uploadThroughDistribution(service, tenant)).toBe(200);
    }

    // Someone changes the value that is sent. CloudFront does not learn it, and the next generation repairs it.
    const secrets = new SecretsManagerClient({ endpoint: service.run.endpoints.secretsmanager });
    const SecretId = idsOf(service).get(3);
    await secrets.send(new PutSecretValueCommand({ SecretId, SecretString: 'another value' }));
    service.run.killWorkers('Uploads');
    expect(await uploadThroughDistribution(service, tenant)).toBe(403);
    await service.close();
    service = await startGeneration(2);
    expect(await uploadThroughDistribution(service, tenant)).toBe(200);
  },
);
