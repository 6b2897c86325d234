import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

/** Starts the service once for all files of test/service. */
const serviceSetup = 'test/support/global-setup.ts';

/**
 * The files of one worker load the libraries once, and the modules of this project each anew. That saves a tenth of the
 * processor time.
 */
const sharedLibraries = {
  isolate: false,
  setupFiles: ['test/support/fresh-modules.ts'],
  // The processes run functions: one thread for compilers and collectors in place of four, and a young generation that
  // need not grow first. Six files of test/service took 9 % less time and 10 % less processor time (means of three
  // interleaved rounds on two processors).
  execArgv: ['--v8-pool-size=1', '--min-semi-space-size=16'],
};

/** Files that run once more with the four Lambda functions that a web function replaces (`chatRoutes`). */
const filesOfBothEntryPoints = [
  'contract-create-chat',
  'contract-stream',
  'stop-reply',
  'resumable-streams',
  'openai-access',
];

/**
 * A limit finds a test that hangs, and never a machine that is slow: the whole run takes twice as long while other
 * programs use the processors. Each poll of the service takes its time.
 */
const patient = {
  expect: { poll: { timeout: 60_000, interval: 400 } },
  testTimeout: 180_000,
  hookTimeout: 180_000,
};

// For the processes of the tests and all that they start: each would else compile the same libraries once more.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// For all processes of the tests: whoever looks into a run's table or queue may be another one than runs it.
process.env.LOCAL_OPERATOR_CREDENTIALS = `AKIA${randomBytes(8).toString('hex').toUpperCase()}:${randomBytes(30).toString('base64url')}`;

/** The commands of agentctl that a worker has run in processes of their own (test/support/agentctl-process.ts). */
const startedCommands = mkdtempSync(join(tmpdir(), 'started-commands-'));
process.env.STARTED_COMMANDS = startedCommands;
process.once('exit', () => rmSync(startedCommands, { recursive: true, force: true }));

export default defineConfig({
  test: {
    // With four workers, all of CI took 995 s of processor time on two processors, with five 1,117 s (a run each). The
    // steps beside the tests use what four leave idle.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          ...patient,
          // The files share their modules: 5 s instead of 12 s.
          isolate: false,
          include: ['test/unit/**/*.test.ts', 'test/stores/**/*.test.ts'],
          provide: { stores: 'memory' },
        },
      },
      { test: { name: 'adapters', ...sharedLibraries, ...patient, include: ['test/adapters/**/*.test.ts'] } },
      {
        test: {
          name: 'stores',
          ...patient,
          isolate: false,
          include: ['test/stores/**/*.test.ts'],
          provide: { stores: 'dynamodb' },
        },
      },
      {
        test: {
          name: 'infra',
          ...patient,
          globalSetup: ['test/support/infra-setup.ts'],
          // To load the CDK for each file would take as long as most of the files.
          isolate: false,
          include: ['test/infra/**/*.test.ts'],
        },
      },
      {
        test: {
          name: 'local',
          ...sharedLibraries,
          ...patient,
          include: ['test/local/**/*.test.ts'],
        },
      },
      {
        test: {
          name: 'service',
          ...sharedLibraries,
          ...patient,
          include: ['test/service/**/*.test.ts', 'test/client/**/*.test.ts'],
          globalSetup: existsSync(new URL(serviceSetup, import.meta.url)) ? [serviceSetup] : [],
        },
      },
      {
        test: {
          name: 'event-functions',
          ...sharedLibraries,
          ...patient,
          include: filesOfBothEntryPoints.map((name) => `test/service/${name}.test.ts`),
          globalSetup: [serviceSetup],
          env: { WEB_FUNCTIONS: 'uploads' },
        },
      },
    ],
  },
});
