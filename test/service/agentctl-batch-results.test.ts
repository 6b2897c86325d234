import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import { clientCommand } from '#support/client-command.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { ended, readJsonLines } from '#support/command-end.ts';
import { envelope, type FrontRequest, startFront } from '#support/front-server.ts';

const front = closeAfterTests(await startFront());
const agentctl = clientCommand(front, { apiKey: 'ak_test' });
let folder: string;
let out: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentctl-results-'));
  out = join(folder, 'results.jsonl');
  front.requests.length = 0;
  return () => rm(folder, { recursive: true });
});

const batchId = crypto.randomUUID();

const batchOf = (status: string, done: number, total: number): Partial<BatchResource> => ({
  id: batchId,
  status: status as BatchResource['status'],
  total_requests: total,
  completed_requests: done,
  failed_requests: 0,
  created_at: '2026-01-01T00:00:00.000Z',
});

const itemsOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => ({
    custom_id: `line-${from + index + 1}`,
    status: 'success',
    response_content: `Reply ${from + index + 1}: “${'é\n"'.repeat(100)}”`,
  }));

/** The scripted service's batches have 2500 results, more than real batches can have. */
const total = 2500;

/** The requested page of results, and its offset. */
function pageOf({ path }: FrontRequest) {
  const { searchParams } = new URL(path, 'http://front');
  const offset = Number(searchParams.get('offset'));
  const limit = Number(searchParams.get('limit'));
  const page = envelope(itemsOf(offset, Math.min(offset + limit, total)), {
    pagination: {
      limit,
      offset,
      total_records: total,
      next_page: offset + limit < total ? 'http://127.0.0.1:9/elsewhere' : null,
    },
  });
  return { offset, page };
}

const isPage = ({ path }: FrontRequest) => path.includes('/results');

/** @param onPage may respond in another way, and then returns true */
function serveResults(
  status: string,
  onPage: (request: FrontRequest, text: string, offset: number) => boolean = () => false,
): void {
  front.serve = (request) => {
    if (!isPage(request)) return request.respond(200, envelope(batchOf(status, total, total)));
    const { offset, page } = pageOf(request);
    if (!onPage(request, JSON.stringify(page), offset)) request.respond(200, page);
  };
}

const download = (...args: string[]) => agentctl.run('batch', 'results', batchId, '--out', out, ...args);

describe('agentctl batch results', () => {
  it('writes several pages, a result a line', async () => {
    serveResults('completed');
    const { code, stdout, stderr } = await download('--json');
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({
      file: out,
      results: total,
      batches: [{ id: batchId, status: 'completed', results: total }],
    });
    expect(await readJsonLines(out)).toEqual(itemsOf(0, total));
    expect(front.requests.filter(isPage).map(({ path }) => path.replace(/.*\?/, ''))).toEqual([
      'limit=1000&offset=0',
      'limit=1000&offset=1000',
      'limit=1000&offset=2000',
    ]);
    expect(await readdir(folder)).toEqual(['results.jsonl']);
  });

  it('goes on after the last whole result of a page that broke off in the middle', async () => {
    let breaks = 0;
    serveResults('completed', ({ response }, text, offset) => {
      if (offset < 1000 || breaks === 2) return false;
      breaks += 1;
      response.writeHead(200, { 'Content-Type': 'application/json' });
      // First the connection breaks, then the response ends early without an error.
      response.write(text.slice(0, text.length / 2), () =>
        breaks === 1 ? response.destroy() : response.end(),
      );
      return true;
    });
    const { code, stderr } = await download();
    expect([code, stderr.trim().split('\n')]).toEqual([
      0,
      [1, 2].map(() =>
        expect.stringMatching(/^The connection was lost; continuing after [12]\d{3} results$/),
      ),
    ]);
    expect(await readJsonLines(out)).toEqual(itemsOf(0, total));
  });

  it('reads a page that is larger than its memory', async () => {
    const count = 400;
    const reply = 'x'.repeat(200_000);
    front.serve = async (request) => {
      if (!isPage(request)) return request.respond(200, envelope(batchOf('completed', count, count)));
      const { response } = request;
      response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"error_code":0,"data":[');
      for (let index = 0; index < count; index += 1) {
        const item = JSON.stringify({ custom_id: `line-${index}`, response_content: reply });
        if (!response.write(`${index === 0 ? '' : ','}${item}`)) await once(response, 'drain');
      }
      response.end(`],"pagination":{"total_records":${count},"next_page":null}}`);
    };
    const args = ['batch', 'results', batchId, '--out', out];
    const { code } = await agentctl.start(args, { NODE_OPTIONS: '--max-old-space-size=64' }).ended;
    expect(code).toBe(0);
    expect((await stat(out)).size).toBeGreaterThan(80_000_000);
  });

  it('fails when results are missing', async () => {
    serveResults('completed', (request, text) => {
      request.respond(200, { ...JSON.parse(text.replace(/"data":\[\{.*?\},/, '"data":[')) });
      return true;
    });
    expect(await download()).toMatchObject(ended(1, /results came of 2500/));
    expect(await readdir(folder)).toEqual([]);
  });

  it('passes the status on, writes several batches, and says which have not ended', async () => {
    serveResults('in_progress');
    const { code, stdout } = await agentctl.run(
      ...['batch', 'results', batchId, batchId, '--out', out, '--status', 'success'],
    );
    expect(code).toBe(0);
    expect(stdout).toContain(`${batchId} is in_progress: the file has only its results so far`);
    expect(stdout).toContain('5,000 results');
    expect((await readJsonLines(out)).length).toBe(2 * total);
    expect(front.requests.filter(isPage).every(({ path }) => path.endsWith('&status=success'))).toBe(true);
  });
});

describe('agentctl batch status --watch', () => {
  it('asks until the batch has ended, also over failures', async () => {
    const script = [
      (request: FrontRequest) => request.respond(200, envelope(batchOf('in_progress', 0, 10))),
      (request: FrontRequest) =>
        request.respond(429, { data: null, message: 'Too many requests', error_code: 10029 }),
      (request: FrontRequest) => request.reset(),
      (request: FrontRequest) => request.respond(200, envelope(batchOf('in_progress', 5, 10))),
      (request: FrontRequest) => request.respond(200, envelope(batchOf('completed', 10, 10))),
    ];
    front.serve = (request) => script.shift()?.(request);
    const { code, stdout, stderr } = await agentctl.run('batch', 'status', batchId, '--watch');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^batch +status +completed +failed +requests +created\n\S+ {2}completed +10 +0 +10 {2}2026-01-01T00:00:00.000Z\n10 of 10 requests succeeded\n$/,
      ),
    ]);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^Too many requests .* trying again in 1\.[12]/),
      expect.stringMatching(
        /^The connection to the service was lost: it closed the connection; trying again in 2\.[2-5]/,
      ),
    ]);
    expect(script).toEqual([]);
  });
});

describe('a cancellation whose answer is lost', () => {
  it('is not told as refused when it is asked for again', async () => {
    let cancellations = 0;
    front.serve = (request) => {
      if (request.method === 'GET') return request.respond(200, envelope(batchOf('cancelling', 0, 10)));
      cancellations += 1;
      if (cancellations === 1) request.reset();
      else request.respond(400, { data: null, message: 'Only a batch in progress …', error_code: 10006 });
    };
    expect(await agentctl.json('batch', 'cancel', batchId)).toMatchObject({
      batches: [{ status: 'cancelling' }],
    });
    expect(cancellations).toBe(2);
  });
});

describe('where client commands go', () => {
  it('is told by the options, else by the environment; a redirect is not followed', async () => {
    front.serve = ({ response }) => {
      response.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end();
    };
    const variables = { AGENT_SERVICE_URL: 'http://127.0.0.1:9', AGENT_SERVICE_KEY: 'ak_environment' };
    const args = ['batch', 'status', batchId, '--base-url', `${front.baseUrl}/`, '--key', 'ak_option'];
    expect(await agentctl.start(args, variables).ended).toMatchObject(
      ended(1, 'The service responded with HTTP 302\n'),
    );
    expect(front.requests.map(({ path, headers }) => [path, headers['x-api-key']])).toEqual([
      [`/batches/${batchId}`, 'ak_option'],
    ]);
  });

  it.each([
    ['no service', 1, { AGENT_SERVICE_URL: '', AGENT_SERVICE_KEY: '' }, /No service runs in .*--base-url/],
    ['a service without a key', 2, { AGENT_SERVICE_KEY: '' }, /No key for http/],
    ['a key that is none', 1, { AGENT_SERVICE_KEY: 'a\nb' }, /cannot be sent/],
  ])('is refused: %s', async (_, exitCode, variables, said) => {
    expect(
      await agentctl.start(['batch', 'status', batchId, '--data', folder], variables).ended,
    ).toMatchObject(ended(exitCode, said));
    expect(front.requests).toEqual([]);
  });
});
