/**
 * `npm run test:dynamodb-local [-- ARGUMENTS OF VITEST]`: runs tests on AWS's own DynamoDB Local instead of the
 * embedded emulator; without arguments, the tests of the stores. Needs Java 17 and Maven. Without them the command
 * prints that it was skipped.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const pom = resolve(import.meta.dirname, 'pom.xml');
const root = resolve(import.meta.dirname, '../../..');
const startMilliseconds = 60_000;
/** Another program can take the free port before DynamoDB Local listens on it. */
const startAttempts = 3;

async function runTests(chosen: string[]): Promise<number> {
  const { dynamoDbLocal, endpoint } = await start(downloaded());
  try {
    const tests = spawn(
      process.execPath,
      [
        resolve(root, 'node_modules/vitest/vitest.mjs'),
        'run',
        ...(chosen.length > 0 ? chosen : ['--project', 'stores']),
      ],
      { cwd: root, env: { ...process.env, AWS_ENDPOINT_URL_DYNAMODB: endpoint }, stdio: 'inherit' },
    );
    const [code] = await once(tests, 'exit');
    return code ?? 1;
  } finally {
    dynamoDbLocal.kill();
  }
}

/** @returns the folder of DynamoDB Local's libraries, which is filled once for each version of the pom */
function downloaded(): string {
  const version = createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 12);
  const folder = resolve(root, `node_modules/.cache/dynamodb-local-${version}`);
  if (existsSync(folder)) return folder;
  const { status } = spawnSync(
    'mvn',
    ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${folder}-${process.pid}`],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  if (status !== 0) throw new Error('Maven could not download DynamoDB Local');
  renameSync(`${folder}-${process.pid}`, folder);
  return folder;
}

async function start(folder: string): Promise<{ dynamoDbLocal: ChildProcess; endpoint: string }> {
  for (let attempt = 1; attempt <= startAttempts; attempt += 1) {
    const port = await freePort();
    const endpoint = `http://127.0.0.1:${port}`;
    const dynamoDbLocal = spawnDynamoDbLocal(folder, port);
    if (await isReady(dynamoDbLocal, endpoint)) return { dynamoDbLocal, endpoint };
    dynamoDbLocal.kill();
  }
  throw new Error(`DynamoDB Local did not start in ${startAttempts} attempts`);
}

function spawnDynamoDbLocal(folder: string, port: number): ChildProcess {
  return spawn(
    'java',
    [
      // A run is over before the better compiler has paid for itself: 41 s of processor time instead of 54 s.
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      `-Djava.library.path=${folder}`,
      '-cp',
      `${folder}/*`,
      'com.amazonaws.services.dynamodbv2.local.main.ServerRunner',
      '-inMemory',
      '-disableTelemetry',
      '-port',
      String(port),
    ],
    // DynamoDB Local writes a file into its working directory.
    { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
  );
}

/** @returns whether it responds; false if it ends, or does not respond in time */
async function isReady(dynamoDbLocal: ChildProcess, endpoint: string): Promise<boolean> {
  const stopAt = Date.now() + startMilliseconds;
  while (Date.now() < stopAt) {
    // DynamoDB Local responds to a call without a signature with an error. Any response shows that it is ready.
    const responds = await fetch(endpoint).then(
      () => true,
      () => false,
    );
    if (dynamoDbLocal.exitCode !== null) return false;
    if (responds) return true;
    await sleep(100);
  }
  return false;
}

async function freePort(): Promise<number> {
  // DynamoDB Local listens on all addresses too.
  const probe = createServer().listen(0, '0.0.0.0');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  await new Promise((closed) => probe.close(closed));
  return port;
}

const missing = [
  ['java', '-version'],
  ['mvn', '--version'],
].filter(([program = '', argument = '']) => spawnSync(program, [argument]).status !== 0);
if (missing.length > 0)
  console.log(
    `DynamoDB Local: skipped, because ${missing.map(([program]) => program).join(' and ')} cannot run`,
  );
else process.exitCode = await runTests(process.argv.slice(2));
