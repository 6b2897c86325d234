import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import { clientOf } from '#support/client.ts';
import {
  processesNaming,
  type RunningCommand,
  startByNpm,
  startCommand,
  startProgram,
} from '#support/command.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { createChat, historyOf } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import type { Connection } from '../../bin/local/connection.ts';
import type { MemoryPart } from '../../bin/local/memory-by-part.ts';

/** Settings of the stage. */
const settings = ['--set', 'batchTimeoutSeconds=7200'];

let folder: string;
let data: string;
let hasOwnDisk: boolean;
let command: RunningCommand;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'service-command-'));
  data = join(folder, 'data');
  await mkdir(data);
  // The data folder is a small separate disk, so that a test can fill it. Only root can mount it.
  hasOwnDisk = await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'tmpfs', data]).then(
    () => true,
    () => false,
  );
  // The folder exists and is empty; --reset must not refuse it as foreign.
  command = startByNpm(['--port', '0', '--data', data, '--reset', ...settings, '--aws-time']);
  await command.printed('Ctrl-C ends it.');
});
afterAll(async () => {
  command.child.kill('SIGTERM');
  await command.ended;
  if (hasOwnDisk) await promisify(execFile)('umount', [data]);
  await rm(folder, { recursive: true, force: true });
});

const readConnection = async (): Promise<Connection> =>
  JSON.parse(await readFile(join(data, 'connection.json'), 'utf8')) as Connection;

const clientNow = async () => {
  const connection = await readConnection();
  const tenant = { apiKey: connection.api_key, agentId: connection.agent_id };
  return { tenant, client: clientOf({ baseUrl: connection.base_url }, tenant) };
};

/** Files that other users than the owner may read or write. */
async function openToOthers(folder: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('find', [folder, '-perm', '/077']);
  return stdout.split('\n').filter((line) => line !== '');
}

/** Runs the command until it ends. */
const run = (...args: string[]) => startCommand(args).ended;

/** Checks that the command fails with only one line that says why. */
async function expectFailure(args: string[], line: RegExp): Promise<void> {
  expectLine(await run(...args), 1, line);
}

function expectLine(end: { code: number | null; stderr: string }, code: number, line: RegExp): void {
  expect(end.stderr.trim().split('\n')).toEqual([expect.stringMatching(line)]);
  expect(end.stderr).not.toMatch(/\b(E[A-Z]{4,}|Error:)/);
  expect(end.code).toBe(code);
}

// A start takes 4 s on an idle machine.
describe('npm start', () => {
  it('prints on one screen where it is, a key, an agent, what to do next, and a curl command that works', async () => {
    const { base_url, api_key, agent_id, operator_token = '' } = await readConnection();
    const output = command.output().trimEnd();
    const lines = output.split('\n');
    for (const value of [base_url, api_key, agent_id]) expect(output).toContain(value);
    expect(base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
    const address = `${new URL(base_url).origin}/#key=${api_key}&operator=${operator_token}`;
    expect(lines.filter((line) => line.length > 80)).toEqual([address]);
    // Of 24 rows of 80 columns, npm takes four for its own words, the address two, and OPENAI_BASE_URL one more.
    expect(lines.length + 1).toBeLessThanOrEqual(19);
    expect(lines.slice(0, 3)).toEqual([
      expect.stringMatching(
        /^\[\d+\.\d s\] Synthesizing the stack, which is new or has changed: up to a minute$/,
      ),
      expect.stringMatching(/^\[\d+\.\d s\] Starting the emulators$/),
      expect.stringMatching(/^\[\d+\.\d s\] Ready$/),
    ]);
    const next = lines.findIndex((line) => line.startsWith('Next: '));
    expect(lines[next + 1]).toBe(address);
    expect(address.length).toBeLessThanOrEqual(160);
    const { origin } = new URL(base_url);
    const tested = await fetch(`${origin}/operator/test`, {
      method: 'POST',
      headers: { Origin: origin, 'Content-Type': 'application/json', 'X-Operator-Token': operator_token },
      body: JSON.stringify({ agent_id, message: 'What can you do?' }),
    });
    expect(await tested.json()).toMatchObject({ version: null, model: 'demo', provider: null });
    const page = await (await fetch(new URL('/', base_url))).text();
    expect(page).toContain('<title>Playground</title>');
    for (const secret of [api_key, operator_token]) expect(page).not.toContain(secret);
    const typed = output.slice(output.indexOf('curl '), output.indexOf('Ctrl-C'));
    const { stdout: events } = await promisify(execFile)('sh', ['-c', typed]);
    expect(events).toContain('event: response.output_text.delta\n');
    expect(events.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('takes settings of the stage', async () => {
    const { client, tenant } = await clientNow();
    const requests = [{ custom_id: 'one', message: 'Hello' }];
    const made = await client.post<BatchResource>('/batches', { agent_id: tenant.agentId, requests });
    const { created_at, expires_at } = made.body.data;
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(7_200_000);
  });

  it('tells its memory by part when it gets SIGUSR2', async () => {
    const file = join(data, 'memory.json');
    process.kill((await readConnection()).pid, 'SIGUSR2');
    await vi.waitFor(() => expect(existsSync(file)).toBe(true), 60_000);
    const parts = JSON.parse(await readFile(file, 'utf8')) as MemoryPart[];
    expect(parts[0]).toMatchObject({ part: 'main thread', threads: 1 });
    expect(parts.at(-1)).toMatchObject({ part: 'rest of the process', threads: 0 });
    // A function may have two threads by now. An empty heap has 4 MB.
    for (const name of [/^s3$/, /-chats$/]) {
      const { threads = 0, bytes = 0 } = parts.find(({ part }) => name.test(part)) ?? {};
      expect(threads, String(name)).toBeGreaterThan(0);
      expect(bytes / threads, String(name)).toBeGreaterThan(4_000_000);
    }
  });

  it('says that a port is in use', async () => {
    const other = await listenLocally(createServer());
    const { port } = new URL(other.url);
    const elsewhere = join(folder, 'elsewhere');
    // With the assembly of the same settings this start need not synthesize one.
    await cp(join(data, 'assembly'), join(elsewhere, 'assembly'), { recursive: true });
    const args = ['--port', port, '--data', elsewhere, ...settings];
    await expectFailure(args, new RegExp(`${port} is in use\\. Choose another one with --port NUMBER`));
    await other.close();
    expect(await processesNaming(elsewhere)).toEqual([]);
  });

  it('refuses a wrong command line in one line, with the nearest option', async () => {
    const wrong: [args: string[], line: RegExp][] = [
      [['--port', '70000'], /--port.* 0 to 65535\. Try npm start -- --help$/],
      [['--prot', '3000'], /unknown option '--prot' \(Did you mean --port\?\)\. Try npm start -- --help$/],
      [['extra'], /arguments/],
      [['--set', 'one', '--set', 'two'], /NAME=VALUE.*: one, two$/],
    ];
    await Promise.all(
      wrong.map(async ([args, line]) => {
        const end = await run(...args);
        expectLine(end, 2, line);
        expect(end.stdout).toBe('');
      }),
    );
  });

  it('says what to do with a folder or port that it cannot use, and with a Node.js that is too old', async () => {
    const file = join(folder, 'file');
    const [newer, older] = [join(folder, 'newer'), join(folder, 'older')];
    const copy = join(folder, 'copy');
    await Promise.all([mkdir(newer), mkdir(older)]);
    await Promise.all([
      writeFile(file, ''),
      writeFile(join(newer, 'connection.json'), JSON.stringify({ data_format: 3 })),
      writeFile(join(older, 'connection.json'), JSON.stringify({})),
      ...['bin', 'local', 'package.json'].map((name) => cp(name, join(copy, name), { recursive: true })),
    ]);
    const program = (...words: string[]) => startProgram([process.execPath, ...words]).ended;
    const [isFile, readOnly, madeByNewer, madeByOlder, old, bare, bug] = await Promise.all([
      run('--data', file),
      run('--data', '/sys/service'),
      run('--data', newer, '--port', '0'),
      run('--data', older, '--port', '0'),
      program('--no-experimental-strip-types', 'bin/local.js'),
      program(join(copy, 'bin/local.js')),
      program('--import', 'data:text/javascript,process.getuid=process.umask=()=>null.x', 'bin/local.js'),
    ]);
    const another = 'Choose another folder with --data FOLDER\\.$';
    expectLine(isFile, 1, new RegExp(`file is a file\\. ${another}`));
    expectLine(readOnly, 1, new RegExp(`/sys/service cannot be written: [a-z -]+\\. ${another}`));
    expectLine(madeByNewer, 1, new RegExp(`newer version .* format is 3, .*\\. ${another}`));
    expectLine(madeByOlder, 1, /older is of an earlier version\. Start with --reset to empty it\.$/);
    expectLine(old, 1, /^Node\.js .* needs Node\.js 22\.18 or newer\. npm ci installs/);
    expectLine(bare, 1, /^The package commander is not installed: run npm ci first$/);
    expect(bug).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/report.*CONTRIBUTING.*\n(.*\n)* +at /),
    });
  });

  it('names a setting that is wrong', async () => {
    const args = ['--port', '0', '--data', join(folder, 'wrong'), '--batch-timeout', '2000000'];
    await expectFailure(args, /^Settings: batchTimeoutSeconds: must be at most .*; it is 2000000$/);
  });

  it('does not empty a folder that holds something else', async () => {
    const mine = join(folder, 'mine');
    await mkdir(mine);
    await writeFile(join(mine, 'thesis.txt'), 'three years');
    await expectFailure(['--port', '0', '--data', mine, '--reset'], /not a data folder/);
    expect(await readdir(mine)).toEqual(['thesis.txt']);
  });

  it('ends at Ctrl-C and leaves no process behind; with --reset it starts again with nothing', async () => {
    const { client, tenant } = await clientNow();
    const chatId = await createChat(client, tenant, { name: 'Kept' });
    expect((await processesNaming(data)).join('\n')).toContain('dynoxide');
    // A terminal sends Ctrl-C to the whole process group: to npm, which forwards it, and to npm's child.
    process.kill(-(command.child.pid ?? 0), 'SIGINT');
    expect(await command.ended).toMatchObject({ code: 0, stderr: '' });
    expect(await processesNaming(data)).toEqual([]);

    const before = await readConnection();
    command = startByNpm(['--port', '0', '--data', data, '--reset']);
    await command.printed('Ctrl-C ends it.');
    const emptied = await clientNow();
    expect(emptied.tenant.apiKey).not.toBe(before.api_key);
    expect((await emptied.client.get(`/chats/${chatId}/messages?external_user_id=x`)).status).toBe(404);
    const headers = { 'x-api-key': before.api_key };
    expect((await emptied.client.get('/chats', { headers })).status).toBe(400);
    expect(existsSync(join(data, 'dynamodb.sqlite'))).toBe(true);
  });

  it('does not empty a folder that is in use', async () => {
    const { client, tenant } = await clientNow();
    await createChat(client, tenant);
    const connection = await readConnection();
    const second = startCommand(['--port', '0', '--data', data, '--reset']);
    const outcome = await Promise.race([
      second.ended.then(({ code }) => code),
      second.printed('Ctrl-C ends it.').then(() => 'started'),
    ]);
    second.child.kill('SIGINT');
    const { stderr } = await second.ended;
    expect(outcome).toBe(1);
    expect(stderr).toMatch(/in use by process \d+\. Choose another folder/);
    expect(await readConnection()).toEqual(connection);
    await createChat(client, tenant);
  });

  it('says once that its disk is full, with the folder, and goes on when there is room', async ({ skip }) => {
    skip(!hasOwnDisk, 'nobody but root can mount a disk to fill');
    const { client, tenant } = await clientNow();
    const uploader = uploaderOf({ baseUrl: (await readConnection()).base_url }, tenant);
    const filler = join(data, 'filler');
    const said = () => command.errors().match(/^.*disk.*$/gm) ?? [];
    // `dd` fails when the disk is full, as intended.
    await promisify(execFile)('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64K']).catch(() => {});
    const upload = () => uploader.file('large.txt', 'x'.repeat(1_000_000));
    expect((await upload()).status).toBe(500);
    await vi.waitFor(() => expect(said()).toHaveLength(1), 60_000);
    await rm(filler);
    expect((await upload()).status).toBe(200);
    expect(await historyOf(client, await createChat(client, tenant))).toEqual([]);
    const [line = '', ...others] = said();
    expect(others).toEqual([]);
    const [, free, where] =
      /^The disk is almost full: ([\d.]+) MB are free for (.+)\. Larger writes/.exec(line) ?? [];
    // The run may look at the disk while `dd` still fills it.
    expect(Number(free)).toBeLessThan(64);
    expect(where).toBe(data);
  });

  it('ends at a SIGTERM to npm, as scripts and supervisors send it, and takes everything along', async () => {
    const { base_url, pid } = await readConnection();
    expect(pid).not.toBe(command.child.pid);
    command.child.kill('SIGTERM');
    expect(await command.ended).toMatchObject({ code: 0 });
    expect(await processesNaming(data)).toEqual([]);
    await expect(fetch(base_url)).rejects.toThrow();
  });

  it('mends the modes of a folder that everybody could read, takes over no address of the run before, and ends when its terminal is closed', async () => {
    const file = join(data, 'connection.json');
    const before = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    await writeFile(file, JSON.stringify({ ...before, an_endpoint: 'http://127.0.0.1:9' }));
    await promisify(execFile)('chmod', ['-R', 'go+rX', data]);
    const mine = join(data, 'agent.json');
    await writeFile(mine, '{}');
    await chmod(mine, 0o644);
    command = startByNpm(['--port', '0', '--data', data]);
    await command.printed('Ctrl-C ends it.');
    expect(await openToOthers(data)).toEqual([mine]);
    const after = await readConnection();
    expect(after).not.toHaveProperty('an_endpoint');
    expect(after).toMatchObject({ api_key: before.api_key, workspace_id: before.workspace_id });
    process.kill(-(command.child.pid ?? 0), 'SIGHUP');
    await command.ended;
    // The emulator may end a moment after npm.
    await expect.poll(() => processesNaming(data)).toEqual([]);
    // The run has ended normally: only a killed run leaves its lock.
    expect(existsSync(join(data, 'lock'))).toBe(false);
  });

  it('names a file of its folder that is torn, and what to do', async () => {
    const file = join(data, 'connection.json');
    await writeFile(file, (await readFile(file, 'utf8')).slice(0, 100));
    await expectFailure(['--port', '0', '--data', data], /connection\.json cannot be read: .*--reset/);
  });
});
