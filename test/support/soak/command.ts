import { spawn } from 'node:child_process';
import { Command } from 'commander';

const program = new Command('soak')
  .description('Runs mixed load and kills on a local run, then checks everything that it has stored.')
  .argument('[minutes]', 'how long the load lasts', '30')
  .option('--seed <number>', 'repeats an earlier run, as far as timing allows')
  .parse();
const [minutes = ''] = program.args.length > 0 ? program.args : ['30'];
const { seed } = program.opts<{ seed?: string }>();
for (const [name, value] of Object.entries({ minutes, seed }))
  if (value !== undefined && !(Number(value) > 0))
    program.error(`${name} must be a number above 0: ${value}`);

const test = spawn('vitest', ['run', '--project', 'service', 'test/service/soak.test.ts'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    SOAK_MINUTES: minutes,
    ...(seed !== undefined && { SEED: seed }),
  },
});
test.once('error', (error) => program.error(error.message));
test.once('exit', (code) => process.exit(code ?? 1));
