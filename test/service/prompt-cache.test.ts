import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { useScriptedService } from '#support/use-service.ts';

const { model, tenant } = await useScriptedService(undefined, {
  agent: { name: 'Guide', system_prompt: 's'.repeat(600) },
});

/** Providers hash prompts in blocks; 128 tokens of English are about this many characters. */
const blockCharacters = 512;
/** The shortest prefix that providers cache: 1,024 tokens. */
const leastCached = 8;

/** Counts the blocks of prompts, and those that an earlier prompt began with as well. */
function cachingProvider() {
  const known = new Set<string>();
  const count = { cached: 0, all: 0 };
  const read = (prompt: string) => {
    const hash = createHash('sha256');
    const prefixes: string[] = [];
    for (let at = 0; at + blockCharacters <= prompt.length; at += blockCharacters)
      prefixes.push(
        hash
          .update(prompt.slice(at, at + blockCharacters))
          .copy()
          .digest('hex'),
      );
    const unknown = prefixes.findIndex((prefix) => !known.has(prefix));
    const cached = unknown < 0 ? prefixes.length : unknown;
    count.cached += cached < leastCached ? 0 : cached;
    count.all += prompt.length / blockCharacters;
    for (const prefix of prefixes) known.add(prefix);
  };
  return { count, read };
}

it.each([
  [200, 1200, 0.85, [20, 200]],
  [1500, 4000, 0.65, [200]],
])(
  'turns of %d and %d characters find at least %d of their prompts in the cache of the provider',
  { timeout: 120_000 },
  async (message, reply, share, turns) => {
    const provider = cachingProvider();
    model.onCall = (call) => {
      provider.read(
        call.request.messages.map(({ role, content }) => `${role} ${JSON.stringify(content)}`).join('\n'),
      );
      call.chunk(`${call.request.messages.length} `.padEnd(reply, 'r'));
      call.finish({ prompt_tokens: 1, completion_tokens: 1 });
    };
    const chat = await tenant.createChat({ name: 'Cached' });
    for (let turn = 1; turn <= 200; turn += 1) {
      const { status } = await tenant.send(chat, { message: `${turn} `.padEnd(message, 'm') });
      expect(status).toBe(200);
      if (!turns.includes(turn)) continue;
      const cached = provider.count.cached / provider.count.all;
      console.log(
        `${turn} turns of ${message} and ${reply} characters: ${(cached * 100).toFixed(1)} % cached`,
      );
      expect(cached).toBeGreaterThanOrEqual(share);
    }
  },
);
