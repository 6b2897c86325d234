import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { clientOf } from '#support/client.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { webFunctions } from '#support/entry-points.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { createTenant, type Tenant } from '#support/service.ts';
import { contentsOf, createChat, historyOf, interrupted, send, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';
import { synthesize } from '../../bin/local/synthesize.ts';

const requestsPerEnvironment = 64;
const leaseSeconds = 6;

const logged: { functionName: string; line: string }[] = [];
const folder = await temporaryFolder('shared-environments-');
await synthesize(folder, { webFunctions, requestsPerEnvironment });
const { callFor, service } = await useScriptedService({
  assembly: folder,
  variables: { LEASE_SECONDS: String(leaseSeconds) },
  onLog: (entry) => logged.push(entry),
});

interface Reply {
  tenant: Tenant;
  chatId: number;
  message: string;
  response: Response;
  events: ReturnType<typeof stepThrough>;
  call: ModelCall;
}

/** Begins so many replies of as many tenants, each with its first delta. */
async function startReplies(count: number): Promise<Reply[]> {
  const created = Array.from({ length: count }, () => createTenant({ model: 'openai:test', titles: false }));
  const tenants = await Promise.all(created);
  const chats = await Promise.all(tenants.map((tenant) => createChat(clientOf(service, tenant), tenant)));
  return Promise.all(
    tenants.map(async (tenant, index) => {
      const chatId = chats[index] as number;
      const message = `Of ${tenant.workspaceId}`;
      const called = callFor(message);
      const reader = await clientOf(service, tenant).stream(chatId, { message, agent_id: tenant.agentId });
      const call = await called;
      call.chunk('Begun');
      const events = stepThrough(reader);
      for (let type = ''; type !== 'response.output_text.delta'; ) {
        const event = await events.next();
        if (event === undefined || event === '[DONE]') throw new Error('The stream had no delta');
        type = event.type;
      }
      return { tenant, chatId, message, response: reader.response, events, call };
    }),
  );
}

const environments = () =>
  service.run.workers().filter(({ functionName }) => functionName.endsWith('-chats'));

describe.runIf(webFunctions === 'all')('an environment that many replies share', () => {
  it('writes no line and no metric of one reply with the ids of another', async () => {
    const replies = await startReplies(requestsPerEnvironment);
    const from = logged.length;
    for (const { call } of replies) call.chunk(' and gone on');
    for (const [index, { call }] of replies.entries()) index % 4 === 0 ? call.reset() : call.finish();
    await Promise.all(replies.map(({ events }) => events.rest()));
    const owners = new Map(
      replies.map(({ response, tenant, chatId }) => [
        response.headers.get('x-request-id'),
        { workspace_id: tenant.workspaceId, chat_id: String(chatId) },
      ]),
    );
    const idsIn = (line: string) => JSON.parse(line) as Record<string, string | undefined>;
    const lines = () => logged.slice(from).filter(({ functionName }) => functionName.endsWith('-chats'));
    const found = () => new Set(lines().map(({ line }) => idsIn(line).request_id));
    // The metrics of a reply are written after its stream has ended.
    await vi.waitFor(() => expect(found().size).toBe(requestsPerEnvironment), 60_000);
    for (const { line } of lines()) {
      const { request_id, workspace_id, chat_id } = idsIn(line);
      const owner = owners.get(request_id ?? '');
      expect({ workspace_id, chat_id }, line).toEqual(owner);
      for (const { tenant } of replies)
        if (tenant.workspaceId !== owner?.workspace_id) expect(line).not.toContain(tenant.workspaceId);
    }
  });

  it('stores what has come of its replies when Lambda ends it; replies of other environments go on', async () => {
    const replies = await startReplies(requestsPerEnvironment + 3);
    // The last three had no room in the first environment.
    const before = environments().length;
    expect(before).toBeGreaterThan(1);
    expect(service.run.shutDownEnvironments('Chats', 1)).toBe(1);
    const results = await Promise.all(
      replies.map(async (reply) => {
        const reading = reply.events.rest().then(
          (events) => (JSON.stringify(events).includes(interrupted.message) ? 'notified' : 'whole'),
          () => 'broken',
        );
        // The environment is gone after a second.
        const outcome = await Promise.race([reading, sleep(5000).then(() => 'running')]);
        if (outcome !== 'running') return { ...reply, outcome };
        reply.call.chunk(' and gone on');
        reply.call.finish();
        return { ...reply, outcome: await reading };
      }),
    );
    const whole = results.filter(({ outcome }) => outcome === 'whole');
    const notified = results.filter(({ outcome }) => outcome === 'notified');
    console.log(`${notified.length} of ${results.length - whole.length} replies were told of their end`);
    expect(whole.length).toBeGreaterThanOrEqual(3);
    expect(whole.length).toBeLessThan(results.length);
    // A client that was told so finds the text in the history.
    for (const [replies, text] of [
      [whole, 'Begun and gone on'],
      [notified, 'Begun'],
    ] as const)
      for (const { tenant, chatId, message } of replies)
        expect(contentsOf(await historyOf(clientOf(service, tenant), chatId))).toEqual([message, text]);
    await Promise.all(
      results.map(async ({ tenant, chatId }) => {
        const status = async () => (await send(clientOf(service, tenant), tenant, chatId, 'Go on')).status;
        await expect.poll(status, { timeout: 10 * leaseSeconds * 1000 }).toBe(200);
      }),
    );
  });
});
