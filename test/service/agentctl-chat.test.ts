import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { agentctlWords } from '#support/agentctl-process.ts';
import { type ClientCommand, clientCommand } from '#support/client-command.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startProgram } from '#support/command.ts';
import { ended, jsonLinesIn } from '#support/command-end.ts';
import { type FrontRequest, startFront } from '#support/front-server.ts';
import { replyWith } from '#support/model-server.ts';
import { type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { createTenant } from '#support/service.ts';
import { contentsOf } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

let tenant: OpenTenant;
let agentctl: ClientCommand;

const { model, callFor, service } = await useScriptedService();
model.onPlainCall = (call) => replyWith(call, 'A title');
const front = closeAfterTests(await startFront(service.baseUrl));
beforeEach(async () => {
  tenant = await openTenant(service, { model: model.sharedName });
  agentctl = clientCommand(front, tenant);
  front.serve = (request) => request.pass();
});

const chatArgs = (...args: string[]) => ['chat', '--agent', tenant.agentId, ...args];

async function onlyChat(): Promise<ChatResource> {
  const { body } = await tenant.client.get<ChatResource[]>('/chats');
  expect(body.data.length).toBe(1);
  return body.data[0] as ChatResource;
}

const isSend = ({ method, path }: FrontRequest) => method === 'POST' && path.endsWith('/messages');

/** Streams these events instead of a reply of the service. A resumed stream has none of them. */
function serveEvents(events: (Record<string, unknown> | '[DONE]')[]): void {
  front.serve = (request) => {
    const isResumed = request.path.includes('/stream?');
    if (!isSend(request) && !isResumed) return request.pass();
    const { response } = request;
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const [sequence_number, event] of isResumed ? [] : events.entries()) {
      const data = JSON.stringify({ response_id: 'reply', chat_id: 1, sequence_number, ...Object(event) });
      response.write(
        event === '[DONE]' ? 'data: [DONE]\n\n' : `: ping\n\nevent: ${Object(event).type}\ndata: ${data}\n\n`,
      );
    }
    response.end();
  };
}

describe('agentctl chat with a message', () => {
  it('prints the reply as it comes, and nothing else on standard output', async () => {
    const called = callFor('What is a lease?');
    const running = agentctl.start(chatArgs('--user', 'ada', '--name', 'Leases', 'What is a lease?'));
    const call = await called;
    call.chunk('A lease ');
    await running.printed('A lease ');
    replyWith(call, 'ends.');
    const { code, stdout, stderr } = await running.ended;
    const { id, name, external_user_id } = await onlyChat();
    expect([code, stdout]).toEqual([0, 'A lease ends.\n']);
    expect(stderr).toBe(`Chat ${id}\nTitle: A title\n`);
    expect([name, external_user_id]).toEqual(['A title', 'ada']);
  });

  it('stops the reply when Ctrl-C is pressed, and leaves when it is pressed twice', async () => {
    const called = callFor('Stop early');
    const running = agentctl.start(chatArgs('Stop early'));
    const call = await called;
    call.chunk('First half');
    await running.printed('First half');
    running.child.kill('SIGINT');
    const { code, stdout, stderr } = await running.ended;
    const chat = await onlyChat();
    expect([code, stdout]).toEqual([130, 'First half\n']);
    expect(stderr).toMatch(/\nStopping the reply\. Ctrl-C again leaves\.\n(?:Title: A title\n)?Stopped\.\n$/);
    await call.gone;
    const [, reply] = await tenant.history(chat);
    expect(reply).toMatchObject({ content: 'First half', meta: { incomplete: 'stopped' } });

    // The stop does not arrive.
    front.serve = (request) => (request.path.endsWith('/stop') ? undefined : request.pass());
    const secondCall = callFor('Leave');
    const leaving = agentctl.start(chatArgs('--chat', String(chat.id), 'Leave'));
    (await secondCall).chunk('Text');
    await leaving.printed('Text');
    leaving.child.kill('SIGINT');
    await expect.poll(() => leaving.errors()).toContain('Ctrl-C again leaves');
    leaving.child.kill('SIGINT');
    expect(await leaving.ended).toMatchObject({ code: 130, stdout: 'Text\n' });
  });

  it('stops the reply when Ctrl-C is pressed before its first event', async () => {
    const called = callFor('Stop at once');
    front.serve = async (request) => {
      if (isSend(request)) {
        running.child.kill('SIGINT');
        await expect.poll(() => running.errors()).toContain('Stopping the reply');
      }
      return request.pass();
    };
    const running = agentctl.start(chatArgs('Stop at once'));
    const call = await called;
    expect((await running.ended).code).toBe(130);
    await call.gone;
    const [, reply] = await tenant.history(await onlyChat());
    expect(reply).toMatchObject({ content: '', meta: { incomplete: 'stopped' } });
  });

  it('continues a chat', async () => {
    const chat = await tenant.createChat({ external_user_id: 'ada' });
    const args = chatArgs('--chat', String(chat.id), '--user', 'ada', 'Again');
    expect(await agentctl.run(...args)).toMatchObject({ code: 0, stdout: 'Hello\n' });
    expect(contentsOf(await tenant.history(chat))).toEqual(['Again', 'Hello']);
    expect(await agentctl.run(...chatArgs('--chat', String(chat.id), 'Mine?'))).toMatchObject(
      ended(1, 'Chat not found (code 10003)\n'),
    );
  });

  it('prints a reply that fits a schema', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'agentctl-chat-')), 'number.json');
    await writeFile(file, '{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}');
    const called = callFor('How old?');
    const running = agentctl.start(chatArgs('--schema', file, 'How old?'));
    const call = await called;
    expect(call.body).toMatchObject({ response_format: { json_schema: { name: 'reply' } } });
    call.chunk('{"age": 7}');
    call.finish();
    expect(await running.ended).toMatchObject({ code: 0, stdout: '{"age": 7}\n' });
  });

  it('shows reasoning steps and errors, each in a line', async () => {
    const step = (id: string, fields: object) => ({
      step: { id, type: 'consultant_search_web', content: `Search\nfor ${id}\u001b[2J`, ...fields },
    });
    serveEvents([
      { type: 'response.created' },
      { type: 'response.reasoning_step.start', ...step('leases', {}) },
      { type: 'response.reasoning_step.start', ...step('x'.repeat(200), {}) },
      { type: 'response.reasoning_step.end', ...step('leases', { result: { success: true } }) },
      { type: 'response.reasoning_step.end', ...step('x'.repeat(200), { result: { success: false } }) },
      { type: 'response.of.a.later.version' },
      { type: 'response.output_text.delta', delta: 'Half\n' },
      { type: 'response.error', message: 'Stream timed out', code: 10005 },
      '[DONE]',
    ]);
    const { code, stdout, stderr } = await agentctl.run(...chatArgs('Search'));
    expect([code, stdout]).toEqual([1, 'Half\n']);
    const lines = stderr.trim().split('\n');
    expect(lines.slice(1)).toEqual([
      '… consultant_search_web: Search for leases\\u001b[2J',
      expect.stringMatching(/^… consultant_search_web: Search for x+…$/),
      'ok consultant_search_web: Search for leases\\u001b[2J',
      expect.stringMatching(/^failed consultant_search_web: Search for x+…$/),
      'Stream timed out (code 10005)',
    ]);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(120);
    const json = await agentctl.run(...chatArgs('Search', '--json'));
    const error = { type: 'response.error', message: 'Stream timed out', code: 10005 };
    expect([json.code, jsonLinesIn(json.stdout).at(-1)]).toMatchObject([1, error]);
  });

  it('says that a reply broke off, once it cannot be resumed', async () => {
    serveEvents([{ type: 'response.output_text.delta', delta: 'Half' }]);
    const { code, stdout, stderr } = await agentctl.run(...chatArgs('Hi'));
    expect([code, stdout]).toEqual([1, 'Half\n']);
    expect(stderr).toMatch(
      /\n(The connection was lost; resuming the reply\n){3}The stream has ended early.* stores it in the history\n$/,
    );
  });

  it.each([
    [['--chat', 'one', 'Hi'], /--chat.*integer/],
    [['--json'], /--json needs a message/],
  ])('refuses %j', async (args, said) => {
    expect(await agentctl.run(...chatArgs(...args))).toMatchObject(ended(2, said));
  });

  it('does without an agent only on a local run', async () => {
    expect(await agentctl.run('chat', 'Hi')).toMatchObject(ended(2, 'No agent: give --agent\n'));
  });
});

describe('agentctl chat as a conversation', () => {
  it('answers each line, and goes on after a refusal', async () => {
    const whitelisted = await createTenant({ model: model.sharedName, whitelist: ['ada'] });
    const args = ['chat', '--agent', whitelisted.agentId, '--user', 'ada'];
    const running = clientCommand(front, whitelisted).start(args, {}, 'pipe');
    const { stdin } = running.child;
    stdin?.write('First\n');
    await running.printed('Hello\n');
    front.serve = (request) => {
      front.serve = (next) => next.pass();
      const message = 'A reply is already in progress for this chat';
      request.respond(400, { data: null, message, error_code: 10006 });
    };
    stdin?.end('Second\n\nThird');
    const { code, stdout, stderr } = await running.ended;
    expect([code, stdout]).toEqual([1, 'Hello\nHello\n']);
    expect(stderr).toMatch(
      /^Chat \d+\. Ctrl-C stops a reply, or leaves\.\nTitle: A title\nA reply is already in progress for this chat \(code 10006\)\n$/,
    );
  });

  /** `script` of util-linux runs a program in a terminal, and forwards its input. */
  const onTerminal = (words: string[], variables: Record<string, string>) =>
    startProgram(
      ['script', '-qefc', words.map((word) => `'${word}'`).join(' '), '/dev/null'],
      variables,
      'pipe',
    );

  it.skipIf(!existsSync('/usr/bin/script'))(
    'prompts on a terminal, keeps a reply from steering it, and is left by Ctrl-C after a stopped reply',
    async () => {
      const first = callFor('Who?');
      const second = callFor('And?');
      const running = onTerminal(agentctlWords(...chatArgs()), agentctl.variables);
      const { stdin } = running.child;
      await running.printed('> ');
      stdin?.write('Who?\r');
      const call = await first;
      call.chunk('\u001b]0;me\u0007I');
      call.finish();
      await running.printed(String.raw`\u001b]0;me\u0007I`);
      await running.printed('A title');
      stdin?.write('And?\r');
      (await second).chunk('You');
      await running.printed('You');
      stdin?.write('\u0003');
      await running.printed('Stopped.');
      stdin?.write('\u0003');
      expect((await running.ended).code).toBe(130);
      expect(running.output()).not.toContain('\u001b]0;');
      expect(running.output()).not.toContain('\u0007');
    },
  );
});
