import { inject, it, vi } from 'vitest';
import { runChaos } from '#support/batch-chaos.ts';

const isSoak = process.env.SOAK !== undefined;

// It takes less than two minutes on an idle machine, but a busy machine starts services slowly.
const seconds = isSoak ? 3600 : 300;
vi.setConfig({ testTimeout: seconds * 1000 });

it('a batch ends once and whole, whatever is killed, refused, lost or delivered twice', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.log(`SEED=${seed}`);
  await runChaos({
    assembly: inject('assembly'),
    seed,
    ...(isSoak ? { requests: 1000, kills: 60, life: 20_000 } : { requests: 80, kills: 1, life: 6000 }),
    seconds: seconds - 30,
  });
});
