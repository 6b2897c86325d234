import { inject, it, vi } from 'vitest';
import { runChaos } from '#support/batch-chaos.ts';

// Less than two minutes on an idle machine; a busy one starts services slowly.
vi.setConfig({ testTimeout: 300_000 });

it('a batch ends once and whole, whatever is killed, refused, lost or delivered twice', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.log(`SEED=${seed}`);
  await runChaos({
    assembly: inject('assembly'),
    seed,
    requests: 300,
    kills: 5,
    life: 8000,
    seconds: 240,
  });
});
