import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { resultsOfBatch } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { nameOfModelAt } from '#support/model-router.ts';
import { openTenant } from '#support/open-tenant.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { providerResponses } from '#support/provider-responses.ts';
import { createChat, deltasOf, historyOf, send } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';

/** Calls for each message, and in `titles` those that name a chat. */
const calls = new Map<string, number>();
const titles = new Map<string, number>();
const provider = closeAfterTests(
  await listenLocally(
    createServer(async (request, response) => {
      const { messages, stream } = JSON.parse(await text(request)) as {
        messages: { content: string }[];
        stream?: boolean;
      };
      const message = messages.at(-1)?.content ?? '';
      const [name, door] = message.split(' / ');
      const shape = providerResponses.find((each) => each.name === name);
      const counts = stream === true ? calls : titles;
      // The request after a redirect is the same call.
      const count = (counts.get(message) ?? 0) + (request.url === '/v1/moved' ? 0 : 1);
      counts.set(message, count);
      // A batch retries a reply that breaks off.
      const isRetry = door === 'batch' && count === 2;
      const { send: sendIt, body, headers } = (isRetry ? undefined : shape) ?? providerResponses[0] ?? {};
      if (sendIt !== undefined) sendIt(response, request.url ?? '');
      else response.writeHead(200, { 'content-type': 'text/event-stream', ...headers }).end(body);
    }),
  ),
);
const service = await useService();
const tenant = await openTenant(service, {
  model: nameOfModelAt(new URL(provider.url).port),
  openai: true,
});
const { client } = tenant;
const openai = openAiRequests(service, tenant);

const expected = providerResponses.map(
  ({ text: reply = 'Hello', usage = [3, 4], end = 'complete', ...shape }) => ({
    ...shape,
    reply,
    usage: { total_prompt_tokens: usage[0], total_completion_tokens: usage[1] },
    end: shape.error === undefined ? end : ('failed' as const),
  }),
);

describe.concurrent('a response of a provider', () => {
  it.each(expected)('with $name, streamed', async ({ name, reply, usage, end, error }) => {
    const chat = await createChat(client, tenant);
    const message = `${name} / stream`;
    const all = await (await client.stream(chat, { message, agent_id: tenant.agentId })).all();
    const events = all.filter((event) => event !== '[DONE]');
    expect(deltasOf(events).join('')).toBe(reply);
    expect(all.at(-1)).toBe('[DONE]');
    expect(events.filter(({ type }) => /completed|error/.test(type))).toMatchObject([
      error === undefined
        ? { final_text: reply, ...(end === 'incomplete' && { incomplete: 'max_output_tokens' }) }
        : { type: 'response.error', message: error },
    ]);
    const [, stored] = await historyOf(client, chat);
    expect(stored).toMatchObject({ content: reply, meta: { token_usage: usage } });
    expect(calls.get(message)).toBe(1);
    // A title is made of the same response, once the reply has a text.
    const title = error === undefined ? ['Hello'] : [];
    const names = events.flatMap((event) =>
      event.type === 'response.chat.title.updated' ? [event.name] : [],
    );
    expect(names).toEqual(title);
    // A call for a title is retried as long as the model cannot be reached.
    const titleCalls = titles.get(message) ?? 0;
    expect(titleCalls).toBeGreaterThanOrEqual(reply === '' ? 0 : 1);
    if (!error?.includes('reached')) expect(titleCalls).toBeLessThanOrEqual(reply === '' ? 0 : 1);
  });

  it.each(expected)(
    'with $name, as JSON and to a client of OpenAI',
    async ({ name, reply, end, error, isRejection }) => {
      const chat = await createChat(client, tenant);
      const [{ status, body }, completion] = await Promise.all([
        send(client, tenant, chat, `${name} / JSON`),
        openai.send({ message: `${name} / openai`, stream: reply !== '' }),
      ]);
      expect([status, body.data]).toEqual(error === undefined ? [200, reply] : [500, null]);
      if (error !== undefined) expect(body.message).toContain(error);
      expect(calls.get(`${name} / JSON`)).toBe(1);
      expect(calls.get(`${name} / openai`)).toBe(1);
      const said = await completion.text();
      expect(said).toContain(
        {
          complete: '"finish_reason":"stop"',
          incomplete: '"finish_reason":"length"',
          failed: isRejection ? '"finish_reason":"content_filter"' : '"error":',
        }[end],
      );
      if (reply !== '') expect(said).toContain('"content":"Hello"');
    },
  );

  it('in a batch: only those that break off are called for again', async () => {
    const requests = expected.map(({ name }, index) => ({
      custom_id: `id-${index}`,
      message: `${name} / batch`,
    }));
    const results = await resultsOfBatch(client, tenant, requests);
    const found = results.map(({ response_content, response_usage, status, incomplete }, index) => [
      expected[index]?.name,
      [status, response_content, incomplete, response_usage?.total_calls],
      calls.get(`${expected[index]?.name} / batch`),
    ]);
    const cutOf = (end: string) => (end === 'incomplete' ? 'max_output_tokens' : null);
    expect(found).toEqual(
      expected.map(({ name, reply, end, error, isRejection }) => [
        name,
        isRejection
          ? ['failed', null, null, undefined]
          : ['success', error === undefined ? reply : 'Hello', cutOf(end), 1],
        error === undefined || isRejection ? 1 : 2,
      ]),
    );
  });
});
