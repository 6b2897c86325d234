import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { limits } from '#contract/limits.ts';
import { OpenAiError } from '#contract/openai.ts';
import { noUsage } from '#domain/chats/message.ts';
import { completionChunks } from '#domain/completions/completion.ts';
import { openCompletionStream } from '#runtime/http/openai-form.ts';
import { manualClock } from '#support/manual-clock.ts';

const head = { id: 'chatcmpl-1', created: 1, model: crypto.randomUUID(), system_fingerprint: 'v1' };

function openStream() {
  const clock = manualClock();
  const stream = new PassThrough();
  const open = vi.fn(() => stream);
  const onSlowReader = vi.fn();
  const completion = openCompletionStream({
    ...{ open, clock, requestId: 'r1', onSlowReader },
    chunks: completionChunks(head, { includesUsage: false }),
  });
  const deltas = () =>
    String(stream.read() ?? '')
      .split('\n\n')
      .filter(Boolean)
      .map((line) => {
        const payload = line.replace('data: ', '');
        return payload === '[DONE]'
          ? payload
          : (JSON.parse(payload).choices?.[0].delta ?? JSON.parse(payload));
      });
  const say = (delta: string) => completion.emit({ type: 'response.output_text.delta', delta });
  return { clock, open, stream, completion, deltas, say, onSlowReader };
}
const role = { role: 'assistant', content: '' };

it('sends its status with the first part', () => {
  const { open, completion, deltas, say } = openStream();
  completion.emit({ type: 'response.created', message_id: 1, agent_id: head.model, model: 'demo' });
  expect(open).not.toHaveBeenCalled();
  say('Hi');
  expect(deltas()).toEqual([role, { content: 'Hi' }]);
});

it('sends its status after 15 s, and an empty delta after each 15 s of silence', async () => {
  const { clock, open, completion, deltas, say } = openStream();
  await clock.advance(14_999);
  expect(open).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(deltas()).toEqual([role, {}]);
  await clock.advance(14_000);
  say('Hi');
  await clock.advance(14_999);
  expect(deltas()).toEqual([{ content: 'Hi' }]);
  await clock.advance(1);
  expect(deltas()).toEqual([{}]);
  completion.end('stop', noUsage);
  expect(deltas()).toEqual([{}, '[DONE]']);
  await clock.advance(60_000);
  expect(deltas()).toEqual([]);
});

it('throws a failure before its status, and writes a later one without [DONE]', async () => {
  const failure = new OpenAiError('unavailable', 'internal', { reason: 'The model is busy' });
  expect(() => openStream().completion.end(failure, noUsage)).toThrow(failure);
  const { completion, clock, deltas } = openStream();
  await clock.advance(15_000);
  deltas();
  completion.end(failure, noUsage);
  expect(deltas()).toEqual([
    { error: { message: 'The model is busy, request id r1', type: 'server_error', param: null, code: null } },
  ]);
});

it('never ends as it should for a reader that is too slow', async () => {
  const { clock, completion, stream, say, onSlowReader } = openStream();
  while (stream.writableLength <= limits.unreadStreamCharacters && onSlowReader.mock.calls.length === 0)
    say('x'.repeat(100_000));
  expect(onSlowReader).toHaveBeenCalledOnce();
  const { writableLength } = stream;
  say('more');
  await clock.advance(30_000);
  expect(() => completion.end('stop', noUsage)).toThrow('too slow');
  expect(stream.writableLength).toBe(writableLength);
});

it('writes nothing more for a reader that is gone', async () => {
  const { clock, completion, deltas, say } = openStream();
  say('Hi');
  deltas();
  completion.drop();
  await clock.advance(60_000);
  expect(deltas()).toEqual([]);
});
