import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, it, onTestFinished, vi } from 'vitest';
import { readModelResponse } from '#agents/model-response.ts';
import { withoutTaggedReasoning } from '#agents/tagged-reasoning.ts';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
};

const partsOf = (deltas: readonly string[]): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id: '1' },
  ...deltas.map((delta) => ({ type: 'text-delta' as const, id: '1', delta })),
  { type: 'text-end', id: '1' },
  { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
];

it('lets Node.js send the first text before it reads the rest of a burst, once', async () => {
  // No turn of the event loop takes too long, however slow the machine is.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const order: string[] = [];
  const burst = new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of partsOf(['one', 'two', 'three'])) controller.enqueue(part);
      controller.close();
    },
  });
  await readModelResponse(
    burst,
    { text: 1000, other: 1000 },
    {
      text(delta) {
        order.push(delta);
        setImmediate(() => order.push(`after ${delta}`));
      },
      progress: () => undefined,
      toolCall: () => ({}),
    },
  );
  expect(order).toEqual(['one', 'after one', 'two', 'three']);
});

/** The text of a response whose deltas these are, and the number of deltas that are progress alone. */
async function read(deltas: string[]) {
  let text = '';
  let progress = 0;
  const { content, finishReason } = await readModelResponse(
    withoutTaggedReasoning(ReadableStream.from(partsOf(deltas))),
    { text: 10_000, other: 10_000 },
    {
      text: (delta) => {
        text += delta;
      },
      progress: () => {
        progress += 1;
      },
      toolCall: () => ({}),
    },
  );
  // The next call of the model gets the text alone.
  expect(content).toEqual(text === '' ? [] : [{ type: 'text', text }]);
  return { text, hasProgress: progress > 0, finishReason };
}

it.each([
  ['<think>Hm.</think>Hello', 'Hello'],
  [' \n<thinking>Hm.</thinking>\n\n Hello', 'Hello'],
  ['<THINK>Hm.</Think>Hello', 'Hello'],
  ['<think></think>Hello', 'Hello'],
  ['<think>1 < 2, </thin, </thinking></think>Hello', 'Hello'],
  ['<think>Hm.</think><think>Hello</think>', '<think>Hello</think>'],
  ['<think>Hm.', ''],
  ['<think>Hm.</think', ''],
  ['<think>Hm.</think>\n', ''],
  ['<thin', '<thin'],
  ['<thinker>Hello', '<thinker>Hello'],
  ['  Hello <think>Hm.</think>', '  Hello <think>Hm.</think>'],
  [' \n', ' \n'],
])('of %j the text is %j, however it is split', async (given, text) => {
  expect(await read([given])).toMatchObject({ text, finishReason: 'stop' });
  expect(await read([...given])).toMatchObject({ text, finishReason: 'stop' });
});

it('up to 1,000 blanks may come before the tag', async () => {
  expect(await read([...`${' '.repeat(1000)}<think>Hm.</think>Hello`])).toMatchObject({ text: 'Hello' });
  const longer = `${' '.repeat(1001)}<think>Hm.</think>Hello`;
  expect(await read([longer])).toMatchObject({ text: longer });
  expect(await read([...longer])).toMatchObject({ text: longer });
});

it('reasoning between tags is progress before its end', async () => {
  expect(await read(['<think>', 'A long thought'])).toEqual({
    text: '',
    hasProgress: true,
    finishReason: 'stop',
  });
});

it('the arguments of a tool are progress before their end', async () => {
  const progress = vi.fn();
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'tool-input-delta', id: '1', delta: '{' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
  ];
  const listener = { text: () => undefined, progress, toolCall: () => ({}) };
  await readModelResponse(ReadableStream.from(parts), { text: 1000, other: 1000 }, listener);
  expect(progress).toHaveBeenCalledOnce();
});

it('reasoning between tags has the bounds of other reasoning', async () => {
  const thought = Array.from({ length: 11 }, () => 'a'.repeat(1000));
  expect(await read(['<think>', ...thought])).toMatchObject({ text: '', finishReason: 'bytes' });
});
