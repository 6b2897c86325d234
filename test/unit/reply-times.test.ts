import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { eventOf } from '#contract/events.ts';
import { limits } from '#contract/limits.ts';
import { resumeStreamRoute, sendMessageRoute } from '#contract/routes/messages.ts';
import { completeChatRoute } from '#contract/routes/openai.ts';
import type { Route } from '#contract/routes/route.ts';
import { variables } from '#runtime/environment/variables.ts';
import { openEventStream, writeStoredStream } from '#runtime/http/event-stream.ts';
import { timeForModel } from '#runtime/http/serve-route.ts';
import { type ManualClock, manualClock, watchEnd } from '#support/manual-clock.ts';
import { openMemoryChat } from '#support/memory-chat.ts';

/** What is left of a route's time after the milliseconds that its request has taken. */
const left = ({ timeoutSeconds }: Route, elapsed: number): number => timeoutSeconds * 1000 - elapsed;

/** Starts a turn whose reply the test plays. */
async function play(deadline: number) {
  const memory = await openMemoryChat();
  const chat = await memory.createChat();
  memory.model.pause();
  const finishing = memory.finish(await memory.start(memory.inputOf(chat, 'Hi'), { deadline }));
  return { memory, finishing, reply: memory.model.replies[0] };
}

describe('a reply may take', () => {
  it.each([sendMessageRoute, completeChatRoute])('300 s from its request, streamed: $name', async (route) => {
    // The request has taken two seconds before its model is called.
    const { memory, finishing, reply } = await play(timeForModel(route, true, left(route, 2000)));
    for (let second = 2; second < 300; second += 1) {
      reply?.text('on ');
      await memory.clock.advance(second === 299 ? 999 : 1000);
    }
    expect(reply?.request.signal.aborted).toBe(false);
    await memory.clock.advance(1);
    expect(reply?.request.signal.aborted).toBe(true);
    expect((await finishing).reply.error?.message).toMatch(/^The reply took longer than/);
    expect(memory.logged).toContain('meter: openai:test slow');
    // What is left to store it.
    expect(left(route, limits.replySeconds * 1000)).toBe(15_000);
  });

  it('110 s from its request on, as JSON', () => {
    vi.stubEnv(variables.plainReplySeconds, '110');
    expect(timeForModel(sendMessageRoute, false, left(sendMessageRoute, 2000))).toBe(108_000);
    vi.unstubAllEnvs();
  });
});

/** The events of a reply that never ends, one a second. */
async function* endless(clock: ManualClock): AsyncGenerator<string> {
  for (let event = 0; ; event += 1) {
    yield `data: ${event}\n\n`;
    await new Promise<void>((resolve) => clock.after(1000, resolve));
  }
}

it('a resumed stream may take as long for a reader that has stopped to read', async () => {
  const clock = manualClock();
  const stream = new PassThrough({ highWaterMark: 1 });
  const end = watchEnd(writeStoredStream(() => stream, endless(clock), clock, left(resumeStreamRoute, 0)));
  await clock.advance(0);
  await clock.advance(889_999);
  expect(end.isReached).toBe(false);
  await clock.advance(1);
  await clock.advance(1000);
  expect(end.isReached).toBe(true);
});

it('a stream has a comment after 15 s of silence, and its end when its last events are stored', async () => {
  const clock = manualClock();
  const stream = new PassThrough({ encoding: 'utf8' });
  const stored = Promise.withResolvers<void>();
  const recorder = { add: () => undefined, started: async () => undefined, finish: () => stored.promise };
  const { emit, done } = openEventStream(stream, { responseId: 'resp_1', chatId: 1 }, clock, recorder);
  const say = () => emit({ type: 'response.output_text.delta', delta: 'Hi' });
  say();
  await clock.advance(14_999);
  say();
  await clock.advance(15_000);
  say();
  const ending = done();
  await clock.advance(14_999);
  expect(
    String(stream.read())
      .split('\n\n')
      .map((text) => text.slice(0, 12)),
  ).toEqual([...['event: respo', 'event: respo', ': ping', 'event: respo', '']]);
  stored.resolve();
  await ending;
  await clock.advance(60_000);
  expect(stream.read()).toBe('data: [DONE]\n\n');
});

it('a stream ends with an error for a client that does not read, and the reply goes on', async () => {
  const stream = new Writable({ write: () => undefined });
  const write = vi.spyOn(stream, 'write');
  const { emit, done } = openEventStream(stream, { responseId: 'resp_1', chatId: 1 }, manualClock());
  const delta = 'x'.repeat(limits.unreadStreamCharacters);
  for (let event = 0; event < 4; event += 1) emit({ type: 'response.output_text.delta', delta });
  await done();
  const [first, error, ...others] = write.mock.calls.map(([text]) => String(text));
  expect(eventOf(first ?? '')).toMatchObject({ delta, sequence_number: 0 });
  // The error is no event of the reply.
  expect(eventOf(error ?? '')).toMatchObject({
    ...{ type: 'response.error', sequence_number: 0 },
    message: expect.stringMatching(/^The stream is read too slowly/),
  });
  expect(others).toEqual(['data: [DONE]\n\n']);
});
