import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runTemplate } from '#local/run-template.ts';
import { changeAssembly, type TemplateResources } from './fixture/change-assembly.ts';
import { makeDataDir } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

let assembly: string;
const folders: string[] = [];
beforeAll(async () => {
  assembly = await synthesizeFixture();
});
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

async function dataFolder(): Promise<string> {
  const folder = await makeDataDir();
  folders.push(folder);
  return folder;
}

/** Processes whose command line contains this folder: the emulator and the shell that supervises it. */
async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const commands = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return commands.filter((command) => command.includes(folder));
}

async function changedAssembly(change: (resources: TemplateResources) => void): Promise<string> {
  const folder = await changeAssembly('Fixture', change);
  folders.push(folder);
  return folder;
}

describe('a start', () => {
  it('refuses a data folder that another run has', async () => {
    const dataDir = await dataFolder();
    const run = await runTemplate({ assembly, dataDir, port: 0 });
    await expect(runTemplate({ assembly, dataDir, port: 0 })).rejects.toThrow(
      `The data folder ${dataDir} is in use by process ${process.pid}`,
    );
    await run.close();
    const repeated = await runTemplate({ assembly, dataDir, port: 0 });
    await repeated.close();
  });

  it('refuses a port in use and leaves nothing behind', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const dataDir = await dataFolder();
    await expect(runTemplate({ assembly, dataDir, port })).rejects.toThrow(`Port ${port} is in use`);
    await vi.waitFor(async () => expect(await processesOf(dataDir)).toEqual([]), 60_000);
    server.close();
    const run = await runTemplate({ assembly, dataDir, port: 0 });
    await run.close();
  });

  it('names a resource whose type it does not know', async () => {
    const changed = await changedAssembly((resources) => {
      resources.Strange = { Type: 'AWS::Strange::Thing' };
    });
    await expect(runTemplate({ assembly: changed, dataDir: await dataFolder(), port: 0 })).rejects.toThrow(
      'Strange (AWS::Strange::Thing): this resource type cannot run locally',
    );
  });

  it('leaves out a resource whose condition does not hold', async () => {
    const changed = await changedAssembly((resources) => {
      resources.Strange = { Type: 'AWS::Strange::Thing', Condition: 'Never' };
    });
    const file = path.join(changed, 'Fixture.template.json');
    const template = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    template.Conditions = { Never: { 'Fn::Equals': [{ Ref: 'AWS::Region' }, 'nowhere'] } };
    await writeFile(file, JSON.stringify(template));
    const run = await runTemplate({ assembly: changed, dataDir: await dataFolder(), port: 0 });
    expect(run.physicalIds).not.toHaveProperty('Strange');
    await run.close();
  });

  it('names what a folder lacks that is no assembly', async () => {
    const folder = await dataFolder();
    await expect(runTemplate({ assembly: folder, dataDir: folder, port: 0 })).rejects.toThrow(
      `${folder} is not a cloud assembly: it has no readable manifest.json`,
    );
  });
});

describe('a process that runs a template', () => {
  const script = path.join(import.meta.dirname, 'fixture', 'run-until-killed.ts');
  const command = (dataDir: string): [string, ...string[]] => [process.execPath, script, assembly, dataDir];
  const startProcess = async (dataDir: string, [program, ...args] = command(dataDir)) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, line: line.toString() };
  };

  it('takes the engine along when it is killed', async () => {
    const dataDir = await dataFolder();
    const { child } = await startProcess(dataDir);
    expect((await processesOf(dataDir)).filter((command) => command.includes('dynoxide'))).not.toEqual([]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await vi.waitFor(async () => expect(await processesOf(dataDir)).toEqual([]), 3000);
  });

  it('can be followed at once when it is killed, even if nobody takes note of its end', async () => {
    const dataDir = await dataFolder();
    // `exec sleep` replaces the shell and never waits for its child, so the child stays a zombie.
    const { child } = await startProcess(dataDir, [
      'sh',
      '-c',
      '"$@" & exec sleep 60',
      'sh',
      ...command(dataDir),
    ]);
    onTestFinished(() => void child.kill('SIGKILL'));
    const pid = Number.parseInt(await readFile(path.join(dataDir, 'lock'), 'utf8'), 10);
    process.kill(pid, 'SIGKILL');
    const run = await runTemplate({ assembly, dataDir, port: 0 });
    expect(await readFile(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /);
    // Only the new run's emulator is left.
    expect((await processesOf(dataDir)).filter((line) => !line.startsWith('sh\0'))).toHaveLength(1);
    await run.close();
    expect(await processesOf(dataDir)).toEqual([]);
  });

  it('is followed only when its engine has let go of the tables', async () => {
    const dataDir = await dataFolder();
    await (await runTemplate({ assembly, dataDir, port: 0 })).close();
    const emulator = new DatabaseSync(path.join(dataDir, 'dynamodb.sqlite'));
    emulator.prepare('SELECT count(*) FROM sqlite_schema').get();
    const starting = runTemplate({ assembly, dataDir, port: 0 });
    // 1 s is enough for a whole start on an idle machine. On a slower machine the test passes without proving anything.
    expect(await Promise.race([starting.then(() => 'started'), wait(1000, 'waits')])).toBe('waits');
    emulator.close();
    await (await starting).close();
  });

  it('can be followed at once whenever it is killed', async () => {
    const dataDir = await dataFolder();
    // A start takes 500 ms or more: the kills come while it loads, while the emulator starts, and when it runs.
    for (const milliseconds of [100, 300, 500, 1000]) {
      const [program, ...args] = command(dataDir);
      const child = spawn(program, args, { stdio: 'ignore' });
      await wait(milliseconds);
      child.kill('SIGKILL');
    }
    const run = await runTemplate({ assembly, dataDir, port: 0 });
    await run.close();
    expect(await processesOf(dataDir)).toEqual([]);
  });

  it('keeps out another one that starts at the same time', async () => {
    const dataDir = await dataFolder();
    const outcomes = await Promise.all(
      [1, 2].map(async () => {
        const [program, ...args] = command(dataDir);
        const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
        const said = text(child.stderr);
        const isRunning = await Promise.race([
          once(child.stdout, 'data').then(() => true),
          once(child, 'exit').then(() => false),
        ]);
        return { child, isRunning, said };
      }),
    );
    const [running, second] = outcomes.toSorted(
      (one, other) => Number(other.isRunning) - Number(one.isRunning),
    );
    expect([running?.isRunning, second?.isRunning]).toEqual([true, false]);
    expect(await second?.said).toContain(
      `The data folder ${dataDir} is in use by process ${running?.child.pid}\n`,
    );
    running?.child.kill('SIGTERM');
    await once(running?.child as ChildProcess, 'exit');
  });

  it('ends by itself soon after close: no handle stays open', async () => {
    const dataDir = await dataFolder();
    const { child } = await startProcess(dataDir);
    child.kill('SIGTERM');
    const closing = performance.now();
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
    expect(performance.now() - closing).toBeLessThan(2000);
    expect(await processesOf(dataDir)).toEqual([]);
  });
});
