import { expect, onTestFinished, test } from 'vitest';
import {
  type BatchRequestItem,
  BatchSubmissionError,
  ChatBatchClient,
  type CreateBatchRequest,
  NotFoundError,
  type SubmitProgress,
} from '#lib/client/index.ts';
import { envelope, startFront } from '#support/front-server.ts';
import { callsByMessage } from '#support/scripted-model.ts';
import { setLimits } from '#support/service.ts';
import { useScriptedService } from '#support/use-service.ts';

const { service, tenant, model } = await useScriptedService();
model.onCall = (call) => {
  call.chunk('Hello');
  call.finish();
};
const callFor = callsByMessage(model);
const client = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey: tenant.apiKey, retryDelay: 10 });
const agent_id = tenant.agentId;
const quick = { pollInterval: 50 };

/** Requests of 200 KB, of which 30 fit into a batch. */
const largeRequests = (count: number, fields: Partial<BatchRequestItem> = {}): BatchRequestItem[] =>
  Array.from({ length: count }, (_, index) => ({
    custom_id: `large-${index}`,
    message: `${index} ${'x'.repeat(200_000)}`,
    ...fields,
  }));

test('2,500 requests are batches of at most 1,000', async () => {
  const front = await startFront();
  onTestFinished(() => front.close());
  const bodies: CreateBatchRequest[] = [];
  front.serve = ({ method, path, body, respond }) => {
    const index = Number(path.split('/')[2] ?? bodies.length);
    if (method === 'POST') bodies.push(JSON.parse(body));
    const requests = bodies[index]?.requests ?? [];
    const batch = {
      id: String(index),
      status: 'completed',
      total_requests: requests.length,
      completed_requests: 0,
    };
    if (!path.includes('/results')) respond(200, envelope(batch));
    else
      respond(
        200,
        envelope(
          requests.map(({ custom_id }) => ({ custom_id })),
          { pagination: { next_page: null } },
        ),
      );
  };
  const other = new ChatBatchClient({ baseUrl: front.baseUrl, apiKey: 'ak_x' });
  const requests = Array.from({ length: 2500 }, (_, index) => ({ custom_id: `r-${index}`, message: 'Hi' }));
  const progress: SubmitProgress[] = [];
  const { results } = await other.batches.submitAndWait(
    { agent_id: 'a', requests, webhook: { url: 'https://example.com' } },
    { onProgress: (next) => void progress.push(next) },
  );
  expect(bodies.map((body) => body.requests.length)).toEqual([1000, 1000, 500]);
  expect(bodies.flatMap((body) => body.requests)).toEqual(requests);
  expect(bodies.every((body) => body.webhook?.url === 'https://example.com')).toBe(true);
  expect(results.map(({ custom_id }) => custom_id)).toEqual(requests.map(({ custom_id }) => custom_id));
  expect(progress.every(({ total_requests }) => total_requests === 2500)).toBe(true);
  expect(new Set(front.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(4);
});

test('requests that cannot be submitted are an error before anything is sent', async () => {
  const before = (await client.batches.list()).pagination.total_records;
  const twice = ['a', 'b', 'a'].map((custom_id) => ({ custom_id, message: 'Hi' }));
  await expect(client.batches.submitAndWait({ agent_id, requests: twice })).rejects.toThrow(
    '"a" is used twice',
  );
  const large = [{ custom_id: 'a', message: '"'.repeat(2_000_000) }];
  await expect(client.batches.submitAndWait({ agent_id, requests: large })).rejects.toThrow(
    'larger than a batch',
  );
  expect(await client.batches.submitAndWait({ agent_id, requests: [] })).toEqual({
    batches: [],
    results: [],
  });
  expect((await client.batches.list()).pagination.total_records).toBe(before);
});

test('a page of results can be read as a stream', async () => {
  const requests = ['a', 'b'].map((custom_id) => ({ custom_id, message: 'Hi' }));
  const { batches } = await client.batches.submitAndWait({ agent_id, requests }, quick);
  const id = batches[0]?.id ?? '';
  const { data, pagination } = await client.batches.results(id, { limit: 1, offset: 1 });
  const response = await client.batches.openResults(id, { limit: 1, offset: 1 });
  expect(response.bodyUsed).toBe(false);
  expect(await response.json()).toMatchObject({ data, pagination });
  expect(data.map(({ custom_id }) => custom_id)).toEqual(['b']);
  await expect(client.batches.openResults(crypto.randomUUID())).rejects.toThrow(NotFoundError);
});

test('a batch of the maximum size is accepted, and the next waits for a slot', async () => {
  await setLimits(tenant.workspaceId, { openBatches: '1', batches: 'none', reads: 'none' });
  onTestFinished(() => setLimits(tenant.workspaceId, { openBatches: '10' }));
  const creations: number[] = [];
  let ended = 0;
  const watched = new ChatBatchClient({
    baseUrl: service.baseUrl,
    apiKey: tenant.apiKey,
    fetch: (address, init) => {
      if (init?.method === 'POST') creations.push(performance.now());
      else if (String(address).includes('/results')) ended ||= performance.now();
      return fetch(address, init);
    },
  });
  const { results, batches } = await watched.batches.submitAndWait(
    { agent_id, requests: largeRequests(40) },
    quick,
  );
  // The service says to check again after 30 s. The end of an own batch is known.
  expect(creations.length).toBe(3);
  expect((creations[2] ?? 0) - ended).toBeLessThan(25_000);
  expect(batches.map(({ total_requests }) => total_requests)).toEqual([31, 9]);
  expect(results.map(({ custom_id, status }) => `${custom_id} ${status}`)).toEqual(
    results.map((_, index) => `large-${index} success`),
  );
});

test('if a part is rejected, the results of the others are in the error', async () => {
  const requests = largeRequests(40);
  requests[35] = { custom_id: 'wrong', message: 'Hi', history_id: 999_999 };
  const error = await client.batches
    .submitAndWait({ agent_id, requests }, quick)
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(BatchSubmissionError);
  const { results, batches, failures, message } = error as BatchSubmissionError;
  expect(message).toMatch(/^\d+ requests were not carried through: .*history_id/);
  expect(batches.length).toBe(1);
  expect(results.length + failures.flatMap((failure) => failure.requests).length).toBe(40);
  expect(failures).toMatchObject([{ error: { name: 'NotFoundError' } }]);
  expect(failures[0]).not.toHaveProperty('batch');
});

test('an aborted submission goes on, or is cancelled', async () => {
  for (const cancelOnAbort of [false, true]) {
    const message = `Until aborted, ${cancelOnAbort}`;
    const called = callFor(message);
    const controller = new AbortController();
    const requests = [{ custom_id: 'a', message }];
    const submitted = client.batches.submitAndWait(
      { agent_id, requests },
      { ...quick, cancelOnAbort, signal: controller.signal, idempotencyKey: message },
    );
    const call = await called;
    const reason = new Error('Enough');
    controller.abort(reason);
    await expect(submitted).rejects.toBe(reason);
    const [batch] = (await client.batches.list({ limit: 1 })).data;
    expect(batch?.status).toBe(cancelOnAbort ? 'cancelling' : 'in_progress');
    call.finish();
    // The same key continues with the same batch.
    const { batches } = await client.batches.submitAndWait(
      { agent_id, requests },
      { ...quick, idempotencyKey: message },
    );
    expect(batches.map(({ id, status }) => [id, status])).toEqual([
      [batch?.id, cancelOnAbort ? 'cancelled' : 'completed'],
    ]);
  }
});
