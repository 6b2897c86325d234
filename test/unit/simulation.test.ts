import { expect, it } from 'vitest';
import { aims, serviceCalls } from '../simulation/service-calls.ts';
import { World } from '../simulation/world.ts';

const plan = { calls: Object.entries(serviceCalls), aims };

it('is repeated to the letter by its seed, and differs from that of another seed', async () => {
  const histories: (readonly string[])[] = [];
  for (const seed of [2, 2, 3]) histories.push((await new World(seed, plan).run()).history);
  const [first = [], second, other] = histories;
  expect(first.length).toBeGreaterThan(5);
  expect(second).toEqual(first);
  expect(other).not.toEqual(first);
});

it('has no violation without faults', async () => {
  const { violations, faults, counts } = await new World(1, plan, false).run();
  expect({ violations, faults }).toEqual({ violations: [], faults: 0 });
  expect(counts.size).toBeGreaterThan(20);
});
