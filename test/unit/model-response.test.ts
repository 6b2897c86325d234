import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, it } from 'vitest';
import { readModelResponse } from '#agents/model-response.ts';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
};

it('lets Node.js send the first text before it reads the rest of a burst, once', async () => {
  const order: string[] = [];
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: '1' },
    ...['one', 'two', 'three'].map((delta) => ({ type: 'text-delta' as const, id: '1', delta })),
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
  ];
  const burst = new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
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
