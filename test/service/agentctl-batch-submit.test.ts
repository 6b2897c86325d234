import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { BatchResource, BatchResultResource } from '#contract/batch.ts';
import type { MessageResource } from '#contract/message.ts';
import { type ClientCommand, clientCommand } from '#support/client-command.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { ended, readJsonLines } from '#support/command-end.ts';
import { startFront } from '#support/front-server.ts';
import { type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { isCreation } from '#support/scripted-batches.ts';
import { useScriptedService } from '#support/use-service.ts';

let folder: string;
let file: string;
let tenant: OpenTenant;
let agentctl: ClientCommand;

const { model, service } = await useScriptedService();
const front = closeAfterTests(await startFront(service.baseUrl));
beforeEach(async () => {
  tenant = await openTenant(service, { model: model.sharedName });
  front.serve = (request) => request.pass();
  folder = await mkdtemp(join(tmpdir(), 'agentctl-batch-'));
  agentctl = clientCommand(front, tenant, { XDG_STATE_HOME: join(folder, 'state') });
  file = join(folder, 'requests.jsonl');
  return () => rm(folder, { recursive: true });
});

const writeLines = (lines: unknown[]): Promise<void> =>
  writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

const messages = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ message: `Message ${index + 1}` }));

const submitArgs = (...args: string[]) => ['batch', 'submit', file, '--agent', tenant.agentId, ...args];

interface Submission {
  submitted: { batch_id: string; requests: number }[];
  batches: BatchResource[];
}

/** The custom ids of all batches of the workspace, in the order of submission. */
async function submittedIds(): Promise<string[]> {
  const { body: list } = await tenant.client.get<BatchResource[]>('/batches');
  const ids: string[] = [];
  for (const { id } of list.data.reverse()) {
    const { body } = await tenant.client.get<BatchResultResource[]>(`/batches/${id}/results?limit=1000`);
    ids.push(...body.data.map(({ custom_id }) => custom_id));
  }
  return ids;
}

const lineIds = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line-${from + index}`);

/** Tests with the whole service. Tests with a scripted one are in agentctl-batch-journal.test.ts. */
describe('agentctl batch', () => {
  it('submits, waits, and writes the results to a file', async () => {
    await writeFile(
      file,
      '{"message":"First"}\n\n' +
        '{"custom_id":"mine","message":"Second","name":"A chat","external_user_id":"ada"}\r\n' +
        '{"message":"line\u2028separator"}',
    );
    const { submitted, batches } = await agentctl.json<Submission>(...submitArgs('--wait'));
    expect(submitted).toEqual([{ batch_id: expect.any(String), from_line: 1, to_line: 4, requests: 3 }]);
    expect(batches).toMatchObject([{ status: 'completed', completed_requests: 3, failed_requests: 0 }]);

    const id = submitted[0]?.batch_id ?? '';
    const out = join(folder, 'results.jsonl');
    expect(await agentctl.json('batch', 'results', id, '--out', out)).toEqual({
      file: out,
      results: 3,
      batches: [{ id, status: 'completed', results: 3 }],
    });
    const { body } = await tenant.client.get<BatchResultResource[]>(`/batches/${id}/results`);
    expect(await readJsonLines(out)).toEqual(body.data);
    expect(body.data.map(({ custom_id }) => custom_id)).toEqual(['line-1', 'mine', 'line-4']);
    const history = await tenant.client.get<MessageResource[]>(
      `/chats/${body.data[2]?.history_id}/messages?external_user_id=anyone`,
    );
    expect(history.body.data[0]?.content).toBe('line\u2028separator');
  });

  it('submits requests whose replies fit a schema, and no other one after an interruption', async () => {
    const schema = join(folder, 'numbers.json');
    await writeFile(schema, '{"type":"array","items":{"type":"integer"}}');
    await writeLines(messages(2));
    model.onCall = (call) => {
      call.chunk('[1, 2]');
      call.finish();
    };
    const { submitted } = await agentctl.json<Submission>(...submitArgs('--schema', schema, '--wait'));
    const { body } = await tenant.client.get<BatchResultResource[]>(
      `/batches/${submitted[0]?.batch_id}/results`,
    );
    expect(body.data.map(({ response_content }) => response_content)).toEqual(['[1, 2]', '[1, 2]']);
    expect(await agentctl.run(...submitArgs())).toMatchObject(ended(1, /was submitted with another schema/));
  });

  it('fills batches up to what the service takes', async () => {
    // A quotation mark has one byte in the message, two in the body, and four in the function's payload.
    const [message, count] = ['"'.repeat(100_000), 17];
    await writeLines(Array.from({ length: count }, () => ({ message })));
    const { submitted } = await agentctl.json<Submission>(...submitArgs());
    expect(submitted.length).toBe(2);
    expect(submitted[0]?.requests).toBeGreaterThan(count * 0.8);
    expect(await submittedIds()).toEqual(lineIds(1, count));
  });

  it('names the line that the service refuses, and goes on when it is mended', async () => {
    await writeLines([...messages(4), { message: 'a', history_id: 99 }]);
    const { code, stderr } = await agentctl.run(...submitArgs());
    expect(stderr).toMatch(/lines 1 to 5 were rejected: line 5: history_id: Chat not found/);
    expect(code).toBe(1);
    await writeLines(messages(5));
    await agentctl.json(...submitArgs());
    expect(await submittedIds()).toEqual(lineIds(1, 5));
  });

  it('submits a CSV file once although it is killed, joins its results, and retries what has failed', async () => {
    const { onCall } = model;
    onTestFinished(() => {
      model.onCall = onCall;
    });
    model.onCall = (call) =>
      /Message [37]!/.test(call.request.messages.at(-1)?.content ?? '') ? call.fail(400) : onCall(call);
    const csv = join(folder, 'requests.csv');
    const lines = Array.from({ length: 30 }, (_, index) => `${index};"Message ${index}!\n"`);
    await writeFile(csv, `\ufeffid;message\r\n${lines.join('\r\n')}`);
    const args = ['batch', 'submit', csv, '--agent', tenant.agentId, '--column', 'custom_id=id', '--wait'];
    const running = agentctl.start(args);
    front.serve = async (request) => {
      if (!isCreation(request)) return request.pass();
      expect((await request.forward()).status).toBe(202);
      running.child.kill('SIGKILL');
    };
    expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
    front.serve = (request) => request.pass();
    const ended = await agentctl.run(...args, '--json');
    expect([ended.code, JSON.parse(ended.stdout)]).toMatchObject([
      3,
      { requests: 30, succeeded: 28, failed: 2, reasons: [{ error_code: 500, requests: 2 }] },
    ]);
    expect(await submittedIds()).toEqual(lines.map((_, index) => String(index)));

    model.onCall = onCall;
    await agentctl.json('batch', 'retry-failed', csv, '--wait');
    const out = join(folder, 'out.jsonl');
    await agentctl.json('batch', 'results', csv, '--out', out);
    expect(await readJsonLines(out)).toMatchObject(
      lines.map((_, index) => ({
        custom_id: String(index),
        message: `Message ${index}!\n`,
        status: 'success',
        response_content: expect.any(String),
      })),
    );
  });
});
