/**
 * Installs clients of OpenAI's chat completions in a new folder, and drives each against a local run: `npm run
 * test:openai-clients`. Needs Python 3.10 and the registries of npm and PyPI.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '../../../bin/local/connection.ts';
import { startCommand } from '../../support/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'openai-clients-'));
const run = (program: string, args: string[], variables: Record<string, string> = {}): void =>
  void execFileSync(program, args, {
    cwd: folder,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'inherit', 'inherit'],
  });

const data = join(folder, 'data');
const service = startCommand(['--port', '0', '--data', data]);

/** A published agent that calls the demo agent. */
function createToolAgent({ workspace_id, agent_id }: Connection): string {
  const agentctl = (...args: string[]): Record<string, string> => {
    const command = join(import.meta.dirname, '../../../bin/agentctl.js');
    const output = execFileSync(process.execPath, [command, '--data', data, ...args, '--json'], {
      encoding: 'utf8',
    });
    return JSON.parse(output.trim().split('\n').at(-1) ?? '') as Record<string, string>;
  };
  const file = join(folder, 'agent.json');
  const tool = { type: 'consultant_call_agent', config: { agent_id } };
  writeFileSync(file, JSON.stringify({ name: 'With a tool', unified_tools: [tool] }));
  const { agent_id: created = '' } = agentctl(
    'agents',
    'create',
    '--workspace',
    workspace_id,
    '--file',
    file,
  );
  agentctl('agents', 'publish', created);
  return created;
}

try {
  cpSync(join(import.meta.dirname, 'python'), folder, { recursive: true });
  cpSync(join(import.meta.dirname, 'node'), folder, { recursive: true });
  run('npm', ['install', '--no-audit', '--no-fund', '--silent']);
  run('python3', ['-m', 'venv', 'venv']);
  run('venv/bin/pip', ['install', '--quiet', '--requirement', 'requirements.txt']);
  await service.printed('Ctrl-C ends it.');
  const connection = JSON.parse(readFileSync(join(data, 'connection.json'), 'utf8')) as Connection;
  const variables = {
    BASE: connection.base_url,
    KEY: connection.api_key,
    AGENT: connection.agent_id,
    TOOL_AGENT: createToolAgent(connection),
  };
  run('venv/bin/python', ['drive_clients.py'], variables);
  run(process.execPath, ['drive-clients.mjs'], variables);
} finally {
  service.child.kill('SIGTERM');
  await service.ended;
  rmSync(folder, { recursive: true, force: true });
}
