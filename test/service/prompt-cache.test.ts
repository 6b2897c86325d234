import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import type { TokenUsage } from '#contract/message.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type ModelCall, type ModelUsage, replyWith } from '#support/model-server.ts';
import { openTenant } from '#support/open-tenant.ts';
import { type ConverseBody, startScriptedBedrock } from '#support/scripted-bedrock.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { historyOf } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';

const openai = closeAfterTests(await startScriptedModel());
const bedrock = closeAfterTests(await startScriptedBedrock());
const service = await useService({
  variables: { OPENAI_BASE_URL: openai.url, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.url },
});

/** A token of English has about four characters. */
const tokensOf = (characters: number): number => Math.floor(characters / 4);
/** The shortest prefix that providers cache, in tokens. */
const leastCached = 1024;

/** Hashes of all prefixes of a prompt that end with a block. */
function prefixesOf(blocks: readonly string[]): { hash: string; characters: number }[] {
  const hash = createHash('sha256');
  let characters = 0;
  return blocks.map((block) => {
    characters += block.length;
    return { hash: hash.update(block).copy().digest('hex'), characters };
  });
}

/** OpenAI caches each prompt, in blocks of 128 tokens. */
function openaiCache() {
  const known = new Set<string>();
  return ({ request }: ModelCall): ModelUsage => {
    const prompt = request.messages
      .map(({ role, content }) => `${role} ${JSON.stringify(content)}`)
      .join('\n');
    const prefixes = prefixesOf(prompt.match(/.{512}/gs) ?? []);
    const cached = tokensOf(prefixes.findLast(({ hash }) => known.has(hash))?.characters ?? 0);
    for (const { hash, characters } of prefixes) if (tokensOf(characters) >= leastCached) known.add(hash);
    return { prompt_tokens: tokensOf(prompt.length), completion_tokens: 1, cached };
  };
}

/**
 * Claude caches up to each mark, and looks for a known prefix at a mark and at the 20 blocks before it. It rejects a fifth mark.
 */
function bedrockCache() {
  const known = new Set<string>();
  return ({ body }: ModelCall): ModelUsage => {
    const { system = [], messages } = body as ConverseBody;
    const parts = [
      ...system,
      ...messages.flatMap(({ role, content }) => content.map((part) => ({ role, ...part }))),
    ];
    const blocks: string[] = [];
    const marks: number[] = [];
    for (const part of parts)
      if ('cachePoint' in part) marks.push(blocks.length - 1);
      else blocks.push(JSON.stringify(part));
    expect(marks.length).toBeLessThanOrEqual(4);
    const prefixes = prefixesOf(blocks);
    const candidates = marks.flatMap((mark) => prefixes.slice(Math.max(mark - 20, 0), mark + 1));
    const lengths = candidates.filter(({ hash }) => known.has(hash)).map(({ characters }) => characters);
    const cached = Math.max(0, ...lengths.map(tokensOf));
    const ends = marks
      .flatMap((mark) => prefixes[mark] ?? [])
      .filter((end) => tokensOf(end.characters) >= leastCached);
    for (const { hash } of ends) known.add(hash);
    return {
      prompt_tokens: tokensOf(prefixes.at(-1)?.characters ?? 0),
      ...{ completion_tokens: 1, cached },
      written: Math.max(0, ...ends.map(({ characters }) => tokensOf(characters) - cached)),
    };
  };
}

const claude = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
const wires = [
  { llm_model: 'openai:test', model: openai, cacheOf: openaiCache },
  { llm_model: `bedrock:${claude}`, model: bedrock, cacheOf: bedrockCache },
];

it.each(
  wires.flatMap((wire) => [
    { ...wire, message: 200, reply: 1200, share: 0.85, turns: [20, 100] },
    { ...wire, message: 1500, reply: 4000, share: 0.65, turns: [60] },
  ]),
)(
  'turns of $message and $reply characters read at least $share of their prompts from the cache of $llm_model',
  { timeout: 120_000 },
  async ({ llm_model, model, cacheOf, message, reply, share, turns }) => {
    const tenant = await openTenant(service, {
      ...{ model: llm_model, titles: false },
      agent: { system_prompt: 's'.repeat(600) },
    });
    const usageOf = cacheOf();
    model.onCall = (call) =>
      replyWith(call, `${call.request.messages.length} `.padEnd(reply, 'r'), usageOf(call));
    const chat = await tenant.createChat({ name: 'Cached' });
    const sum = { cached: 0, all: 0 };
    for (let turn = 1; turn <= Math.max(...turns); turn += 1) {
      const body = { message: `${turn} `.padEnd(message, 'm'), agent_id: tenant.agentId };
      const events = (await (await tenant.client.stream(chat.id, body)).all()) as StreamEvent[];
      const completed = events.find(({ type }) => type === 'response.output_text.completed');
      const { usage } = completed as Extract<StreamEvent, { usage: TokenUsage }>;
      sum.cached += usage.cached_prompt_tokens;
      sum.all += usage.total_prompt_tokens;
      if (!turns.includes(turn)) continue;
      const cached = sum.cached / sum.all;
      console.log(`${llm_model}, ${turn} turns of ${message} and ${reply}: ${(cached * 100).toFixed(1)} %`);
      expect(cached).toBeGreaterThanOrEqual(share);
      const { cached_prompt_tokens } =
        (await historyOf(tenant.client, chat.id)).at(-1)?.meta.token_usage ?? {};
      expect(cached_prompt_tokens).toBe(usage.cached_prompt_tokens);
    }
  },
);
