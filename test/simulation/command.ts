import { fork } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { invariants } from './checks.ts';
import { faultKinds, isPossible } from './faults.ts';
import { addTo, emptySummary, newWorld, type Summary } from './run-seeds.ts';
import { serviceCalls } from './service-calls.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    worlds: { type: 'string', default: '100' },
    from: { type: 'string' },
  },
});

/** The seed after the last one that was run. A new installation begins at 1, and so does CI. */
const progressFile = join(import.meta.dirname, '../../node_modules/.cache/simulation.json');
const seedsOfBlock = 5;
/** A run of so many worlds has to meet every call with every fault, and to check every invariant. */
const completeRun = 500;

/** Runs one world again, to the letter, and prints what happened: all of it, or its last lines. */
async function repeat(seed: number, lines = Infinity): Promise<void> {
  const { history, violations } = await newWorld(seed).run();
  console.log(history.slice(-lines).join('\n'));
  for (const { invariant, detail } of violations) console.log(`${invariant}: ${detail}`);
  console.log(`Seed ${seed}: ${violations.length} violations. Repeat it: npm run simulate -- --seed ${seed}`);
  process.exitCode = violations.length > 0 ? 1 : 0;
}

async function explore(worlds: number): Promise<void> {
  const stored = existsSync(progressFile) ? (JSON.parse(readFileSync(progressFile, 'utf8')) as number) : 1;
  const first = values.from === undefined ? stored : Number(values.from);
  const started = Date.now();
  const sum = await runAll(first, worlds);
  mkdirSync(join(progressFile, '..'), { recursive: true });
  writeFileSync(progressFile, String(first + worlds));
  const isComplete = report(sum);
  const seconds = (Date.now() - started) / 1000;
  console.log(
    `Seeds ${first} to ${first + worlds - 1}: ${sum.faults} faults, ${sum.events} events, ${seconds.toFixed(1)} s`,
  );
  console.log(`${sum.violations.length} violations`);
  const [found] = sum.violations;
  if (found !== undefined) await repeat(found.seed, 40);
  if (sum.violations.length > 0 || (worlds >= completeRun && !isComplete)) process.exitCode = 1;
}

/** Each process takes the next seeds when it is ready. */
async function runAll(first: number, worlds: number): Promise<Summary> {
  const sum = emptySummary();
  let next = first;
  const end = first + worlds;
  const work = (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const child = fork(join(import.meta.dirname, 'run-seeds.ts'), {
      serialization: 'advanced',
      // A world makes much garbage, and little of it lives long.
      execArgv: [...process.execArgv, '--max-semi-space-size=64'],
    });
    const assign = (): void => {
      const seeds = Array.from({ length: Math.min(seedsOfBlock, end - next) }, (_, index) => next + index);
      next += seeds.length;
      if (seeds.length > 0) child.send(seeds);
      else child.disconnect();
    };
    child.on('message', (summary: Summary) => {
      addTo(sum, summary);
      assign();
    });
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`Worlds ended with ${code}`))));
    assign();
    return promise;
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return sum;
}

/** @returns whether every call has met every fault, and every invariant was checked */
function report({ calls, checks, violations }: Summary): boolean {
  const missing = missingFaults(calls);
  for (const invariant of invariants) {
    const found = violations.filter((violation) => violation.invariant === invariant);
    const seeds = found.map(({ seed }) => seed).slice(0, 5);
    const result = found.length === 0 ? '' : `  ${found.length} × (seeds ${seeds.join(', ')})`;
    const count = checks[invariant] ?? 0;
    console.log(`${String(count).padStart(9)}  ${invariant}${result}`);
  }
  const unchecked = invariants.filter((name) => !checks[name]);
  if (missing.length > 0) console.log(`Without a fault: ${missing.join('; ')}`);
  if (unchecked.length > 0) console.log(`Never checked: ${unchecked.join('; ')}`);
  return missing.length === 0 && unchecked.length === 0;
}

/** The faults that a call has not met. */
const missingFaults = (calls: Summary['calls']): string[] =>
  Object.entries(serviceCalls).flatMap(([name, ofCall]) => {
    const { type = ofCall, faults = {} } = calls[name] ?? {};
    const missing = faultKinds.filter((fault) => isPossible(type, fault) && !faults[fault]);
    return missing.map((fault) => `${name} ${fault}`);
  });

if (values.seed !== undefined) await repeat(Number(values.seed));
else await explore(Number(values.worlds));
