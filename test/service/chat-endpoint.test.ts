import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { gatewayHeaders } from '#runtime/environment/variables.ts';
import { type ChatEndpoint, startChatEndpoint } from '#support/chat-endpoint.ts';
import { clientOf, readEvents } from '#support/client.ts';
import { webFunctions } from '#support/entry-points.ts';
import { createTenant } from '#support/service.ts';
import { contentsOf, createChat, historyOf, send } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

let endpoint: ChatEndpoint;
const { model, callFor, service, tenant, client } = await useScriptedService();
afterEach(() => endpoint?.close());

const start = async () => {
  endpoint = await startChatEndpoint(service, model.url);
  return endpoint;
};
const post = (path: string, headers: Record<string, string>, body: unknown) =>
  fetch(endpoint.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
/** The response to a request whose caller has this signature. */
const rejectionOf = async (signed: string | undefined) => {
  const response = await post(
    '/chats',
    {
      ...{ 'x-api-key': tenant.apiKey, 'x-forwarded-host': 'any' },
      ...(signed !== undefined && { [gatewayHeaders.signedCaller]: signed }),
    },
    newChat(),
  );
  return [response.status, response.headers.get('connection'), await response.text()];
};
const newChat = () => ({ name: 'A chat', agent_id: tenant.agentId });
const goOn = async (chatId: number) => (await send(client, tenant, chatId, 'Go on')).status;

/** Starts a reply whose first text the client has received. */
async function startReply(message: string, text: string) {
  const chatId = await createChat(client, tenant);
  const called = callFor(message);
  const path = `/chats/${chatId}/messages`;
  const response = await post(path, endpoint.headersOf(tenant), { message, agent_id: tenant.agentId });
  (await called).chunk(text);
  const events = readEvents(response)[Symbol.asyncIterator]();
  while (JSON.stringify((await events.next()).value).includes('delta') === false);
  return { chatId, message, events };
}

describe.runIf(webFunctions === 'all')('the web function of chats', () => {
  it('believes only callers whom the authorizer has signed, and rejects all others with 403', async () => {
    await start();
    const headers = endpoint.headersOf(tenant);
    const own = await post('/chats', headers, newChat());
    expect([own.status, own.headers.get('x-request-id')]).toEqual([200, headers[gatewayHeaders.requestId]]);
    const signed = headers[gatewayHeaders.signedCaller] ?? '';
    const [text = '', signature = ''] = signed.split('.');
    const stranger = Buffer.from(JSON.stringify({ workspaceId: 'ws_x', apiKeyId: 'k' })).toString(
      'base64url',
    );
    for (const forged of [
      undefined,
      '',
      text,
      `${text}.`,
      `${stranger}.${signature}`,
      `${text}.${signature.slice(0, -1)}`,
      `${signed}, ${signed}`,
    ])
      expect(await rejectionOf(forged), String(forged)).toEqual([403, 'close', '']);
    await vi.waitFor(() => expect(endpoint.lines.join()).toContain('"Strangers":7'), 60_000);
  });

  it('stores what has come of its replies when Lambda ends it, and takes no new ones', async () => {
    await start();
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, index) => startReply(`Reply ${index} ${randomUUID()}`, `Begun ${index}`)),
    );
    endpoint.signal('SIGTERM');
    for (const { events } of replies) {
      const { value } = await events.next();
      expect(value).toMatchObject({ type: 'response.error', message: 'The reply was interrupted' });
    }
    await endpoint.exit;
    for (const [index, { chatId, message }] of replies.entries()) {
      expect(contentsOf(await historyOf(client, chatId))).toEqual([message, `Begun ${index}`]);
      // The lease is released: the chat takes the next message at once.
      expect(await goOn(chatId)).toBe(200);
    }
  });

  it('interrupts also a reply whose message has not arrived when Lambda ends it', async () => {
    await start();
    const chatId = await createChat(client, tenant);
    const path = `${endpoint.url}/chats/${chatId}/messages`;
    const body = JSON.stringify({ message: 'Late', agent_id: tenant.agentId });
    const headers = { ...endpoint.headersOf(tenant), 'content-type': 'application/json' };
    // A first request, so that the second one waits only for its body.
    expect((await post('/chats', endpoint.headersOf(tenant), newChat())).status).toBe(200);
    const request = httpRequest(path, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.length, expect: '100-continue' },
    });
    const responded = once(request, 'response') as Promise<[IncomingMessage]>;
    request.flushHeaders();
    await once(request, 'continue');
    endpoint.signal('SIGTERM');
    await vi.waitFor(async () => expect((await post('/chats', headers, newChat())).status).toBe(503), 60_000);
    // The model is silent: a reply could else be whole before its message is stored.
    void callFor('Late');
    request.end(body);
    const [response] = await responded;
    expect(Buffer.concat(await response.toArray()).toString()).toContain('The reply was interrupted');
    await endpoint.exit;
    expect(await goOn(chatId)).toBe(200);
  });

  it('stores what has come of its replies after an error outside of any request, and ends', async () => {
    await start();
    const { chatId, events } = await startReply('Hold on', 'Begun');
    endpoint.signal('SIGUSR2');
    const { value } = await events.next();
    expect(value).toMatchObject({ type: 'response.error', message: 'The reply was interrupted' });
    expect(await endpoint.exit).toEqual([1, null]);
    expect(endpoint.lines.join()).toContain('Outside of any request');
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['Hold on', 'Begun']);
  });
});

describe('headers of the gateway that a client sends', () => {
  it('are replaced by the gateway', async () => {
    await start();
    const other = await createTenant({ model: model.sharedName, titles: false });
    const chatId = await createChat(clientOf(service, other), other);
    const forged = endpoint.headersOf(other);
    const response = await client.post(
      `/chats/${chatId}/messages`,
      { message: 'Hi', agent_id: other.agentId },
      { headers: forged },
    );
    expect([response.status, response.body.message]).toEqual([404, 'Agent not found']);
    expect(response.headers.get('x-request-id')).not.toBe(forged[gatewayHeaders.requestId]);
    // A known id of a request is that of the gateway's own request, whatever clients send.
    const own = await client.post<{ id: number }>('/chats', newChat(), { headers: forged });
    const second = await client.post<{ id: number }>('/chats', newChat(), { headers: forged });
    expect(second.body.data.id).not.toBe(own.body.data.id);
  });
});
