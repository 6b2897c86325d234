import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { BatchResource, BatchResultResource } from '#contract/batch.ts';
import type { MessageResource } from '#contract/message.ts';
import { type ClientCommand, clientCommand } from '#support/client-command.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { ended, readJsonLines } from '#support/command-end.ts';
import { type FrontRequest, startFront } from '#support/front-server.ts';
import { type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { ScriptedBatches } from '#support/scripted-batches.ts';
import { useScriptedService } from '#support/use-service.ts';

interface Submission {
  requests: number;
  earlier_batches: number;
  submitted: { batch_id: string; from_line: number; to_line: number; requests: number }[];
  batches: BatchResource[];
}

const { model, service } = await useScriptedService();
const front = closeAfterTests(await startFront());
let agent: string;
let agentctl: ClientCommand;
let batches: ScriptedBatches;
let folder: string;
let file: string;

beforeEach(async () => {
  batches = new ScriptedBatches();
  serveAll();
  agent = crypto.randomUUID();
  folder = await mkdtemp(join(tmpdir(), 'agentctl-batch-'));
  agentctl = clientCommand(front, { apiKey: 'ak_test' }, { XDG_STATE_HOME: join(folder, 'state') });
  file = join(folder, 'requests.jsonl');
  return () => rm(folder, { recursive: true });
});

/** The only journal. */
async function journalPath(): Promise<string> {
  const journals = join(folder, 'state', 'agentctl', 'submissions');
  const names = await readdir(journals);
  return join(journals, names.find((name) => name.endsWith('.jsonl')) ?? 'none');
}

const writeLines = (lines: unknown[]): Promise<void> =>
  writeFile(
    file,
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
  );

const messages = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ message: `Message ${index + 1}` }));

const rejectCreation = (request: FrontRequest): void =>
  request.respond(400, { data: null, message: 'Not now', error_code: 10006 });

const serveAll = (): void => {
  front.serve = (request) => batches.serve(request);
};

const submitArgs = (...args: string[]) => ['batch', 'submit', file, '--agent', agent, ...args];
const submit = (...args: string[]): Promise<Submission> => agentctl.json(...submitArgs(...args));

const lineIds = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line-${from + index}`);

describe('agentctl batch submit', () => {
  it.each<[string, unknown, RegExp]>([
    ['no JSON', '{"message":', /line 1003 is not valid JSON/],
    ['no object', '[1]', /line 1003: it must be an object/],
    ['a field of another type', { message: 'a', history_id: 'x' }, /line 1003: history_id must be/],
    ['an id twice', { message: 'a', custom_id: 'line-1002' }, /line 1003: custom_id is the same as .* 1002/],
  ])('names a line that is wrong before anything is sent: %s', async (_, line, said) => {
    await writeLines([...messages(1002), line, ...messages(3)]);
    const { code, stderr, stdout } = await agentctl.run(...submitArgs());
    expect(stderr).toMatch(said);
    expect([code, stdout, stderr.trim().split('\n').length]).toEqual([1, '', 1]);
    expect(batches.customIds).toEqual([]);
  });

  it('names a line that is no UTF-8', async () => {
    await writeFile(
      file,
      Buffer.concat([Buffer.from('{"message":"'), Buffer.from([0xff]), Buffer.from('"}')]),
    );
    expect((await agentctl.run(...submitArgs())).stderr).toMatch(/line 1 is not valid JSON/);
    expect(batches.taken).toEqual([]);
  });
});

describe('agentctl batch submit, killed and run again', () => {
  /** Kills a submission at its n-th batch, which the service has created if `isCreated`. */
  async function killAt(which: number, isCreated: boolean): Promise<void> {
    const running = agentctl.start(submitArgs());
    front.serve = batches.serveWith((request, creation) => {
      if (creation < which) return batches.serve(request);
      if (isCreated) batches.create(request);
      running.child.kill('SIGKILL');
    });
    expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
    serveAll();
  }

  /** Changes the journal so that its run seems to have ended long ago. */
  async function letTimePass(): Promise<void> {
    const path = await journalPath();
    const journal = await readFile(path, 'utf8');
    await writeFile(path, journal.replace(/"at":"[^"]+"/g, '"at":"2026-01-01T00:00:00.000Z"'));
  }

  it('sends again under the same key, and looks for nothing', async () => {
    await writeLines(messages(5));
    await killAt(1, true);
    // A batch with the same content that another client has submitted.
    const [mine] = batches.taken;
    const other = batches.create({ body: mine?.body ?? '' });
    const before = front.requests.length;
    const { submitted } = await submit();
    expect(submitted.map(({ batch_id }) => batch_id)).toEqual([mine?.resource.id]);
    expect(other.id).not.toBe(mine?.resource.id);
    const sent = front.requests.slice(before).filter(({ path }) => path === '/batches');
    expect(sent.map(({ headers }) => headers['idempotency-key'])).toEqual([mine?.key]);
    expect(front.requests.slice(before).some(({ path }) => path.includes('/results'))).toBe(false);
  });

  // Without a batch, the search takes 45 s.
  it.each(process.env.SOAK === undefined ? [true] : [true, false])(
    'when its key is forgotten, taken: %s, beside another’s batch',
    async (isTaken) => {
      await writeLines(messages(1500));
      await killAt(2, isTaken);
      await letTimePass();
      for (const batch of batches.taken) batch.key = undefined;
      const others = messages(500).map((line, index) => ({ custom_id: `other-${index}`, ...line }));
      batches.create({ body: JSON.stringify({ agent_id: agent, requests: others }) });
      await submit();
      expect(batches.customIds.filter((id) => id.startsWith('line-'))).toEqual(lineIds(1, 1500));
    },
  );

  it('finds a batch that appears during the search, long after its portion was first sent', async () => {
    await writeLines(messages(5));
    let sent: { body: string } | undefined;
    const running = agentctl.start(submitArgs());
    front.serve = batches.serveWith((request) => {
      sent = request;
      running.child.kill('SIGKILL');
    });
    await running.ended;
    await letTimePass();
    let searches = 0;
    front.serve = (request) => {
      if (request.path.startsWith('/batches?')) searches += 1;
      if (searches === 2 && sent !== undefined) sent = void batches.create(sent);
      batches.serve(request);
    };
    await submit();
    expect(batches.customIds).toEqual(lineIds(1, 5));
  });

  it('with lines that have changed since', async () => {
    await writeLines(messages(5));
    await killAt(1, true);
    await writeLines([...messages(4), { message: 'Another' }]);
    expect(await agentctl.run(...submitArgs())).toMatchObject(ended(1, /lines 1 to 5 have changed/));
    expect(batches.taken.length).toBe(1);
  });

  it('and refused when it is sent again, it stays in the journal until its fate is known', async () => {
    await writeLines(messages(5));
    await killAt(1, true);
    front.serve = batches.serveWith(rejectCreation);
    expect((await agentctl.run(...submitArgs())).stderr).toMatch(/lines 1 to 5 were rejected: Not now/);
    serveAll();
    await submit();
    expect(batches.customIds).toEqual(lineIds(1, 5));
  });

  it('again and again, also before a batch was taken and while the journal was being written', async () => {
    await writeLines(messages(2500));
    for (const isTaken of [true, false, true]) await killAt(1, isTaken);
    await killAt(2, true);
    await appendFile(await journalPath(), '{"is":"accepted","fromLi');
    await submit();
    expect(batches.customIds).toEqual(lineIds(1, 2500));
  });
});

describe('agentctl batch submit, on a service in trouble', () => {
  it('is told of a batch that was made although the answer failed or was lost', async () => {
    let creations = 0;
    front.serve = batches.serveWith((request, creation) => {
      creations = creation;
      if (creation % 2 === 0) return batches.serve(request);
      batches.create(request);
      if (creation === 1) request.respond(500, { data: null, message: 'Broken', error_code: 10005 });
      else if (creation === 3) request.reset();
      else request.response.writeHead(504).end('<html>');
    });
    await writeLines(messages(2500));
    expect((await submit()).submitted.length).toBe(3);
    expect(creations).toBe(6);
    expect(batches.customIds).toEqual(lineIds(1, 2500));
  });

  it('waits for the rate limit more often than for failures', async () => {
    const message = 'The workspace has too many open batches';
    front.serve = batches.serveWith((request, creation) => {
      if (creation > 8) return batches.serve(request);
      request.respond(429, { data: null, message, error_code: 10029 }, { 'Retry-After': '0' });
    });
    await writeLines(messages(5));
    await submit();
    expect(batches.customIds).toEqual(lineIds(1, 5));
  });

  it('leaves a batch in the journal that was rejected after a response was lost', async () => {
    let creations = 0;
    front.serve = batches.serveWith((request, creation) => {
      creations = creation;
      if (creation > 1) return rejectCreation(request);
      batches.create(request);
      request.reset();
    });
    await writeLines(messages(5));
    expect((await agentctl.run(...submitArgs())).stderr).toMatch(/lines 1 to 5 were rejected: Not now/);
    serveAll();
    await submit();
    expect([creations, batches.customIds]).toEqual([2, lineIds(1, 5)]);
  });
});

describe('the journal of agentctl batch submit', () => {
  it('lets a second run send nothing, and one with --again everything', async () => {
    await writeLines(messages(3));
    const first = await submit();
    expect((await stat(await journalPath())).mode & 0o777).toBe(0o600);
    expect(await submit()).toEqual({ ...first, earlier_batches: 1 });
    expect(batches.taken.length).toBe(1);
    await submit('--again');
    expect(batches.taken.length).toBe(2);
  });

  it('tells when the submission is another', async () => {
    await writeLines(messages(3));
    await submit();
    expect(await agentctl.run(...submitArgs('--webhook-url', 'https://example.com/hook'))).toMatchObject(
      ended(1, /another webhook.*--again/),
    );
    expect(await agentctl.run('batch', 'submit', file, '--agent', crypto.randomUUID())).toMatchObject(
      ended(1, /another agent.*--again/),
    );
    expect(batches.taken.length).toBe(1);
  });

  it('belongs to one run at a time', async () => {
    await writeLines(messages(3));
    const arrived = Promise.withResolvers<() => void>();
    front.serve = batches.serveWith(async (request) => {
      await new Promise<void>((go) => arrived.resolve(go));
      batches.serve(request);
    });
    const first = agentctl.start(submitArgs());
    const go = await arrived.promise;
    expect(await agentctl.run(...submitArgs())).toMatchObject(ended(1, /being submitted by process \d+/));
    go();
    expect((await first.ended).code).toBe(0);
    expect(batches.customIds).toEqual(lineIds(1, 3));
  });
});

describe('the webhook of agentctl batch submit', () => {
  it('is sent with every batch, its secret from the environment, which no journal keeps', async () => {
    const webhooks: unknown[] = [];
    front.serve = batches.serveWith((request) => {
      webhooks.push(JSON.parse(request.body).webhook);
      request.respond(202, { data: { id: crypto.randomUUID() }, message: null, error_code: 0 });
    });
    await writeLines(messages(1001));
    const url = 'https://example.com/hook';
    const args = submitArgs('--webhook-url', url, '--webhook-events', 'completed,cancelled');
    const { code } = await agentctl.start(args, { AGENT_SERVICE_WEBHOOK_SECRET: 'hush' }).ended;
    expect(code).toBe(0);
    const webhook = { url, events: ['completed', 'cancelled'], secret: 'hush' };
    expect(webhooks).toEqual([webhook, webhook]);
    expect(await readFile(await journalPath(), 'utf8')).not.toContain('hush');
  });

  it.each([
    [
      ['--webhook-events', 'done', '--webhook-url', 'https://example.com'],
      /Events are completed, failed, cancelled/,
    ],
    [['--webhook-secret', 'hush'], /need --webhook-url/],
  ])('refuses %j', async (args, said) => {
    await writeLines(messages(1));
    expect(await agentctl.run(...submitArgs(...args))).toMatchObject(ended(2, said));
  });
});

describe('agentctl batch on a whole service', () => {
  let tenant: OpenTenant;
  beforeEach(async () => {
    tenant = await openTenant(service, { model: model.sharedName });
    agentctl = clientCommand(service, tenant, { XDG_STATE_HOME: join(folder, 'state') });
    agent = tenant.agentId;
  });

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

  it('submits, waits, and writes the results to a file', async () => {
    await writeFile(
      file,
      '{"message":"First"}\n\n' +
        '{"custom_id":"mine","message":"Second","name":"A chat","external_user_id":"ada"}\r\n' +
        '{"message":"line\u2028separator"}',
    );
    const { submitted, batches } = await submit('--wait');
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
    const { submitted } = await submit('--schema', schema, '--wait');
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
    const { submitted } = await submit();
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
});
