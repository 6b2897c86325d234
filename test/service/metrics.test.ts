import { afterAll, beforeAll, expect, it } from 'vitest';
import { metrics, serviceDimension } from '#runtime/metric-names.ts';
import { type MetricLine, readMetricLine } from '#support/metric-lines.ts';
import { type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { type Service, startService } from '#support/service.ts';

let service: Service;
let tenant: OpenTenant;
const lines: MetricLine[] = [];

beforeAll(async () => {
  service = await startService({
    onLog({ functionName, line }) {
      const read = readMetricLine(functionName, line);
      if (read !== undefined) lines.push(read);
    },
  });
  tenant = await openTenant(service);
});
afterAll(() => service.close());

/** The lines of one request, by its id: they come a moment behind its answer. */
const linesOf = (requestId: string | null, atLeast: number): Promise<MetricLine[]> => {
  const found = () => lines.filter(({ properties }) => properties.request_id === requestId);
  return expect
    .poll(found, { timeout: 10_000, message: `${atLeast} lines of request ${requestId}` })
    .toSatisfy((read: MetricLine[]) => read.length >= atLeast)
    .then(found);
};

it('counts a request under its route, in the namespace of its stack', async () => {
  const { headers } = await tenant.client.get('/chats');
  const [line, ...others] = await linesOf(headers.get('x-request-id'), 1);
  expect(others).toEqual([]);
  expect(line).toMatchObject({
    namespace: 'agent-service-local',
    dimensions: [{ ...serviceDimension, route: 'list-chats' }],
    metrics: { [metrics.requests.name]: { unit: 'Count', value: 1 } },
    properties: { workspace_id: tenant.workspaceId },
  });
});

it('counts an error by its route, and by its code', async () => {
  const { headers } = await tenant.client.get('/chats?limit=many');
  const read = await linesOf(headers.get('x-request-id'), 2);
  expect(read).toHaveLength(2);
  expect(read.find((line) => metrics.errors.name in line.metrics)).toMatchObject({
    dimensions: [
      { ...serviceDimension, route: 'list-chats' },
      { ...serviceDimension, error_code: '10006' },
    ],
    metrics: { [metrics.errors.name]: { unit: 'Count', value: 1 } },
  });
});

it('tells at every run of the reconciler how many batches are open long after their time', async () => {
  const told = () => lines.find(({ metrics: told }) => metrics.overdueBatches.name in told);
  await expect.poll(told, { timeout: 20_000 }).toMatchObject({
    dimensions: [serviceDimension],
    metrics: { [metrics.overdueBatches.name]: { unit: 'Count', value: 0 } },
  });
});
