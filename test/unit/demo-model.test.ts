import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { demo } from '#agents/models/demo.ts';

const user = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] });

async function send(...prompt: LanguageModelV4Prompt) {
  const { stream } = await demo.model('').doStream({ prompt });
  const parts = await Array.fromAsync(stream);
  const chunks = parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []));
  const finish = parts.find((part) => part.type === 'finish');
  return { parts, chunks, text: chunks.join(''), usage: finish?.usage };
}

describe('what it says', () => {
  it('tells of the history, but not of the instructions, a word a piece, and words are its tokens', async () => {
    const { text, chunks, usage } = await send(
      { role: 'system', content: 'Be kind.' },
      user('One'),
      { ...user('Two'), role: 'assistant' },
      user('Three'),
    );
    expect(text).toContain('I see 2 earlier messages');
    expect(text).not.toContain('Be kind');
    for (const chunk of chunks) expect(chunk.trim()).toMatch(/^\S+$/);
    expect([usage?.inputTokens.total, usage?.outputTokens.total]).toEqual([5, chunks.length]);
  });

  it('quotes the beginning of a long message, in whole characters', async () => {
    const { text } = await send(user('🙂'.repeat(1000)));
    expect(text).toContain(`“${'🙂'.repeat(200)}… (the first 200 of 1000 characters)”`);
    expect(text.isWellFormed()).toBe(true);
  });
});

describe('tools', () => {
  const tool = (name: string) => ({ type: 'function' as const, name, inputSchema: {} });
  const callWith = async (names: string[], ...prompt: LanguageModelV4Prompt) => {
    const { content, finishReason } = await demo.model('').doGenerate({ prompt, tools: names.map(tool) });
    return { content, finishReason };
  };

  it('are called when the message names them, in its order, with the object behind the name', async () => {
    const { content, finishReason } = await callWith(
      ['look', 'fetch', 'other'],
      user('fetch {"url":"http://x/{a}"} and then look, please'),
    );
    expect(finishReason.unified).toBe('tool-calls');
    expect(content).toMatchObject([
      { type: 'tool-call', toolName: 'fetch', input: '{"url":"http://x/{a}"}' },
      { type: 'tool-call', toolName: 'look', input: '{}' },
    ]);
  });

  it.each([
    ['look {"a":"}"} }', '{"a":"}"}'],
    ['look {"a":"\\"}{"}{"b":1}', '{"a":"\\"}{"}'],
    ['look\n {"a":{"b":[{}]}}}', '{"a":{"b":[{}]}}'],
    ['look {"a":"\\\\"} "}', '{"a":"\\\\"}'],
    ['look {"a":"}', '{"a":"}'],
    ['look', '{}'],
  ])('get the object behind the name, or the rest if it is none: %j', async (message, input) => {
    expect((await callWith(['look'], user(message))).content).toMatchObject([{ input }]);
  });
});
