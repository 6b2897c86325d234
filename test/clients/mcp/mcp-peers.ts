import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tools } from '../languages.ts';

const driver = join(import.meta.dirname, 'conformance-client.ts');
const port = '3917';

/** Runs the protocol's conformance suite for clients, of both eras, and calls the tools of a real server. */
export async function testMcp({ run, work }: Tools): Promise<undefined> {
  const folder = join(work, 'mcp');
  run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { folder });
  const scope = join(folder, 'node_modules/@modelcontextprotocol');
  for (const revision of ['2025-11-25', '2026-07-28'])
    run(
      process.execPath,
      [
        ...[join(scope, 'conformance/dist/index.js'), 'client', '--command', `${process.execPath} ${driver}`],
        ...['--requirements', revision, '--timeout', '20000'],
        ...['--expected-failures', join(folder, 'exceptions.yaml')],
      ],
      { folder },
    );
  const everything = join(scope, 'server-everything/dist/index.js');
  const server = spawn(process.execPath, [everything, 'streamableHttp'], {
    env: { ...process.env, PORT: port },
    stdio: 'ignore',
  });
  try {
    await sleep(3000);
    const env = { MCP_CONFORMANCE_PROTOCOL_VERSION: '2025-11-25' };
    const output = run(process.execPath, [driver, `http://127.0.0.1:${port}/mcp`], { folder, env });
    assert.match(output, /^echo .*Echo: /m);
    assert.match(output, /^get-structured-content .*structuredContent/m);
  } finally {
    const ended = once(server, 'exit');
    server.kill();
    await ended;
  }
}
