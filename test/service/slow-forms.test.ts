import { setTimeout as pass } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { requestsOf, resultsOfBatch } from '#support/batches.ts';
import type { ModelCall } from '#support/model-server.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { deltasOf } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

/** Instead of the 90 s of a stage. */
const streamTimeoutSeconds = 2;
const { model, service, tenant, client } = await useScriptedService(
  { variables: { STREAM_TIMEOUT_SECONDS: String(streamTimeoutSeconds) } },
  { openai: true },
);

interface Choice {
  message: { content: string };
}

const schema = { type: 'array', items: { type: 'integer' } };
const response_format = { type: 'json_schema', json_schema: { name: 'numbers', schema } };
const numbers = Array.from({ length: 12 }, (_, index) => index);
const text = JSON.stringify(numbers);

/** Says a number each half second: for three times as long as a reply may be silent. */
async function slowly(call: ModelCall): Promise<void> {
  for (const part of text.match(/\d+\D*|\D+/g) ?? []) {
    call.chunk(part);
    await pass(500);
  }
  call.finish();
}

/** Says the whole text but its last character, and then nothing. */
function silently(call: ModelCall): void {
  call.chunk(text.slice(0, -1));
}

/** The text that a client gets in each transport, or the error. */
const transports: Readonly<Record<string, () => Promise<unknown>>> = {
  async stream() {
    const chat = await tenant.createChat();
    const body = { message: 'Count', agent_id: tenant.agentId, response_format };
    const events = await (await client.stream(chat.id, body)).all();
    const error = events.find((event) => event !== '[DONE]' && event.type === 'response.error');
    return deltasOf(events).join('') + (error ? (error as { message: string }).message : '');
  },
  async JSON() {
    const sent = await tenant.send(await tenant.createChat(), { message: 'Count', response_format });
    return sent.body.data ?? sent.body.message;
  },
  async batch() {
    const [result] = await resultsOfBatch(client, tenant, requestsOf(1), { response_format });
    return result?.response_content ?? result?.error_message;
  },
  async completion() {
    const response = await openAiRequests(service, tenant).send({ response_format });
    const { choices, error } = (await response.json()) as { choices?: Choice[]; error?: { message: string } };
    return choices?.[0]?.message.content ?? error?.message;
  },
};

/** The end of each transport, all at once. */
async function ends(): Promise<Record<string, unknown>> {
  const ended = Object.entries(transports).map(async ([name, reply]) => [name, await reply()] as const);
  return Object.fromEntries(await Promise.all(ended));
}

const inEach = (expected: unknown) =>
  Object.fromEntries(Object.keys(transports).map((name) => [name, expected]));

it('JSON that takes three times as long as a reply may be silent is whole', { timeout: 60_000 }, async () => {
  model.onCall = slowly;
  const startedAt = performance.now();
  expect(await ends()).toEqual(inEach(text));
  expect(performance.now() - startedAt).toBeGreaterThan(3 * streamTimeoutSeconds * 1000);
});

it('JSON that stops ends the reply, and no client gets a byte of it', { timeout: 60_000 }, async () => {
  model.onCall = silently;
  expect(await ends()).toEqual(inEach(expect.stringMatching(/^Stream timed out/)));
});
