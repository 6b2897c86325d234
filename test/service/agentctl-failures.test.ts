import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { runAgentctlCommand } from '#support/agentctl-process.ts';
import { submit } from '#support/batches.ts';
import { clientCommand } from '#support/client-command.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { startProgram } from '#support/command.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { openTenant } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';
import manifest from '../../package.json' with { type: 'json' };

const service = await useService();
const tenant = await openTenant(service);
const folder = await temporaryFolder('agentctl-failures-');
const client = clientCommand(service, tenant);

/** An address where nothing listens. */
const { url: closed, close } = await listenLocally(createServer());
await close();

/** A server that stands in for CloudFormation, and knows no stack. */
const account = closeAfterTests(
  await listenLocally(
    createServer(async (request, response) => {
      await text(request);
      response.statusCode = 400;
      response.setHeader('Content-Type', 'text/xml').end(
        `<ErrorResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><Error><Type>Sender</Type>
          <Code>ValidationError</Code><Message>Stack with id stack does not exist</Message></Error><RequestId>1</RequestId></ErrorResponse>`,
      );
    }),
  ),
);

/** An environment with nothing of AWS, except for the address of the account. */
const noCredentials = {
  AWS_ENDPOINT_URL_CLOUDFORMATION: account.url,
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_PROFILE: '',
  AWS_ACCESS_KEY_ID: '',
  AWS_SECRET_ACCESS_KEY: '',
  AWS_REGION: 'eu-central-1',
};

describe('agentctl --stack', () => {
  const credentials = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };

  it.each<[problem: string, variables: Record<string, string>, line: RegExp]>([
    ['no Region', { AWS_REGION: '' }, /^The AWS Region is missing or wrong: set AWS_REGION, /],
    ['no credentials', {}, /set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY$/],
    ['no such stack', credentials, /^There is no stack stack in eu-central-1: check /],
  ])('says what to do: %s', async (_, variables, line) => {
    const args = ['workspaces', 'list', '--stack', 'stack'];
    const { code, stdout, stderr } = await runAgentctlCommand('a stack', args, {
      ...noCredentials,
      ...variables,
    });
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(line)]);
    expect([code, stdout]).toEqual([1, '']);
  });
});

describe('agentctl without a service', () => {
  it('says how to start one, also if another process has the id of the run that has ended', async () => {
    const stale = { pid: process.pid, base_url: `${closed}/api/v1`, dynamodb_endpoint: closed };
    const data = join(folder, 'stale');
    await mkdir(data);
    await writeFile(join(data, 'connection.json'), JSON.stringify(stale));
    const noService = { AGENT_SERVICE_URL: '', AGENT_SERVICE_KEY: '' };
    for (const args of [
      ['chat', 'Hello'],
      ['workspaces', 'get', 'ws'],
    ]) {
      const end = await runAgentctlCommand('no service', [...args, '--data', data], noService);
      expect(end).toMatchObject({ code: 1, stdout: '' });
      expect(end.stderr).toMatch(/^No service runs in .*: start one with npm start, or .*\n$/);
    }
  });
});

describe('agentctl', () => {
  it('names the file, and the line in it, that it cannot read', async () => {
    const agents = (file: string) =>
      agentctlOf(service).run('agents', 'create', '--workspace', tenant.workspaceId, '--file', file);
    const batches = (file: string) => client.run('batch', 'submit', file, '--agent', tenant.agentId);
    const cases: [run: typeof agents, name: string, content: string | undefined, line: RegExp][] = [
      [agents, 'none.json', undefined, /none\.json cannot be read: no such file or directory$/],
      [agents, 'token.json', '{\n"name": "é",\n"a": x\n}', /token\.json .*: line 3: Unexpected token/],
      [agents, 'comma.json', '{\n"name": "x",\n}', /comma\.json .*: line 3: /],
      [agents, 'end.json', '{\n"name":\n', /end\.json .*: line 2: Unexpected end/],
      [batches, 'none.jsonl', undefined, /none\.jsonl cannot be read: no such file or directory$/],
    ];
    for (const [run, name, content, line] of cases) {
      const file = join(folder, name);
      if (content !== undefined) await writeFile(file, content);
      const end = await run(file);
      expect(end).toMatchObject({ code: 1, stdout: '' });
      expect(end.stderr.trim().split('\n')).toEqual([expect.stringMatching(line)]);
      expect(end.stderr).not.toMatch(/\bE[A-Z]{4,}/);
    }
  });

  it('says which key is wrong, and where the service cannot be reached', async () => {
    const wrong = await client.run('batch', 'list', '--key', 'ak_wrong');
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/API key.*: check --key, or AGENT_SERVICE_KEY\n$/);
    const args = ['chat', 'Hello', '--agent', tenant.agentId, '--base-url', closed];
    const unreachable = client.start(args);
    await expect
      .poll(unreachable.errors)
      .toContain(`cannot be reached at ${closed}: nothing accepts connections there; trying again`);
    unreachable.child.kill('SIGKILL');
    await unreachable.ended;
  });

  it('ends with 2 after a wrong command line, names the nearest command or option, and prints its version', async () => {
    const cases: [args: string[], line: RegExp][] = [
      [['batc', 'list'], /unknown command 'batc' \(Did you mean batch\?\)\. Try agentctl --help$/],
      [['batch', 'list', '--limt', '1'], /unknown option '--limt' \(Did you mean --limit\?\)/],
      [['batch', 'list', '--limit', '0'], /--limit .*from 1 to.* Try agentctl batch list --help$/],
      [['batch', 'list', '--base-url', 'ftp://x'], /is not an http or https address/],
      [['batch', 'list', '--base-url', 'https://x '], /is not an http or https address/],
    ];
    for (const [args, line] of cases) {
      const { code, stdout, stderr } = await client.run(...args);
      expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(line)]);
      expect([code, stdout]).toEqual([2, '']);
    }
    expect(await client.run('--version')).toMatchObject({ code: 0, stdout: `${manifest.version}\n` });
  });

  it('shows the trace of a bug, and where to report it; ends quietly when nothing reads its output', async () => {
    const faulty = ['--import', 'data:text/javascript,URL.canParse=()=>null.x', 'bin/agentctl.js'];
    const bug = startProgram([process.execPath, ...faulty, 'batch', 'list'], client.variables);
    const unread = client.start(['batch', 'list']);
    unread.child.stdout?.destroy();
    const [broken, quiet] = await Promise.all([bug.ended, unread.ended]);
    expect(broken).toMatchObject({ code: 1, stdout: '' });
    expect(broken.stderr).toMatch(
      /^TypeError: .*\n( +at .*\n)+This is a bug of version .*CONTRIBUTING\.md.*\n$/,
    );
    expect(quiet).toMatchObject({ code: 0, stderr: '' });
  });

  it('lists batches, newest first, and says what an empty list is', async () => {
    const list = async (...args: string[]) =>
      (await client.run('batch', 'list', ...args)).stdout.trimEnd().split('\n');
    expect(await list()).toEqual(['No batches']);
    const ids: string[] = [];
    for (const message of ['one', 'two']) {
      ids.unshift((await submit(tenant.client, tenant, [{ custom_id: 'a', message }])).id);
    }
    const [titles, ...lines] = await list();
    expect(titles).toMatch(/^batch +status +completed +failed +requests +created$/);
    expect(lines.map((line) => line.split(' ')[0])).toEqual(ids);
    const [, newest, more, ...others] = await list('--limit', '1');
    expect([newest?.split(' ')[0], more, others]).toEqual([ids[0], '1 more: give --limit', []]);
    expect(await list('--status', 'cancelled')).toEqual(['No batches']);
    expect(await client.json('batch', 'list')).toMatchObject({
      batches: ids.map((id) => ({ id })),
      total: 2,
    });
    const { run } = agentctlOf(service);
    expect((await run('agents', 'list', '--workspace', tenant.workspaceId)).code).toBe(0);
  });
});
