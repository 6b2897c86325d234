import { inject, it, vi } from 'vitest';
import { runChaos } from '#support/batch-chaos.ts';

const seconds = 3600;
vi.setConfig({ testTimeout: seconds * 1000 });

// CI has each of these faults alone, and kills under mixed load (soak.test.ts).
it.runIf(process.env.SOAK !== undefined)(
  'a batch ends once and whole, whatever is killed, refused, lost or delivered twice',
  async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
    console.log(`SEED=${seed}`);
    await runChaos({
      assembly: inject('assembly'),
      seed,
      requests: 1000,
      kills: 60,
      life: 20_000,
      seconds: seconds - 30,
    });
  },
);
