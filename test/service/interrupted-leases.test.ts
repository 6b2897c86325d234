import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ApiResponse } from '#support/client.ts';
import { functionIds } from '#support/entry-points.ts';
import { replyWith } from '#support/model-server.ts';
import {
  contentsOf,
  historyOf,
  interrupted,
  rejectedWhileResponding,
  send,
  startReplyWith,
} from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const leaseSeconds = 2;
/** Between requests while a lease lasts: without a pause they would keep both processors busy. */
const pauseMilliseconds = 100;

/** While it is true, the table rejects all renewals of leases. */
let rejectsRenewals = false;
const { callFor, service, tenant, client } = await useScriptedService({
  variables: { LEASE_SECONDS: String(leaseSeconds) },
  maxConcurrency: 2,
  faults: {
    reject: ({ body }) =>
      rejectsRenewals &&
      (body as { UpdateExpression?: string }).UpdateExpression === 'SET #lease_until = :lease_until',
  },
});

const startReply = (message: string) => startReplyWith({ client, tenant, callFor }, message);

/** Retries a send as long as a reply is in progress. */
async function sendWhenReleased(chatId: number, message: string): Promise<ApiResponse<string>> {
  for (;;) {
    const response = await send(client, tenant, chatId, message);
    if (response.status === 200) return response;
    expect(response).toMatchObject(rejectedWhileResponding);
    await sleep(pauseMilliseconds);
  }
}

it('a killed function frees its chat by doing nothing', async () => {
  const { chatId, events } = await startReply('killed');
  service.run.killWorkers(functionIds['send-message']);
  const start = performance.now();
  await expect(events.rest()).rejects.toThrow();
  expect((await sendWhenReleased(chatId, 'go on')).body.data).toBe('Hello');
  // A lease is renewed every third of its time, so it has at least two thirds left when its owner dies.
  expect((performance.now() - start) / 1000).toBeGreaterThan(leaseSeconds / 2);
  expect(contentsOf(await historyOf(client, chatId))).toEqual(['killed', '', 'go on', 'Hello']);
});

it('a reply that outlasts its lease keeps the chat, since it renews the lease', async () => {
  const { chatId, events, call } = await startReply('long');
  const end = performance.now() + leaseSeconds * 1000 * 2.5;
  let chunks = 0;
  for (; performance.now() < end; chunks += 1) {
    call.chunk('on ');
    expect(await events.next()).toMatchObject({ delta: 'on ' });
    expect(await send(client, tenant, chatId, 'too soon')).toMatchObject(rejectedWhileResponding);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['long']);
    await sleep(pauseMilliseconds);
  }
  call.finish();
  await events.rest();
  const history = await historyOf(client, chatId);
  expect(contentsOf(history)).toEqual(['long', `One, ${'on '.repeat(chunks)}`]);
  expect(history[1]?.meta.error).toBeUndefined();
  expect((await send(client, tenant, chatId, 'now')).body.data).toBe('Hello');
});

it('a reply that lost its lease is settled by the next sender, and its own reader is told', async () => {
  const { chatId, events, call } = await startReply('lost lease');
  rejectsRenewals = true;
  expect((await sendWhenReleased(chatId, 'take over')).body.data).toBe('Hello');
  rejectsRenewals = false;
  replyWith(call, 'two');
  const rest = await events.rest();
  expect(rest.at(-2)).toMatchObject({ type: 'response.error', ...interrupted });
  expect(rest.at(-1)).toBe('[DONE]');
  const history = await historyOf(client, chatId);
  expect(contentsOf(history)).toEqual(['lost lease', '', 'take over', 'Hello']);
  expect(history[1]?.meta.error).toEqual(interrupted);
  expect((await send(client, tenant, chatId, 'and on')).body.data).toBe('Hello');
});
