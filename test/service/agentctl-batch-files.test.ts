import { appendFile, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ClientCommand, clientCommand } from '#support/client-command.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startProgram } from '#support/command.ts';
import { ended, readJsonLines } from '#support/command-end.ts';
import { startFront } from '#support/front-server.ts';
import { isCreation, ScriptedBatches } from '#support/scripted-batches.ts';

const agent = crypto.randomUUID();
const front = closeAfterTests(await startFront());
let agentctl: ClientCommand;
let batches: ScriptedBatches;
let folder: string;
let journals: string;

beforeEach(async () => {
  batches = new ScriptedBatches();
  serveAll();
  front.requests.length = 0;
  folder = await mkdtemp(join(tmpdir(), 'agentctl-files-'));
  const state = await mkdtemp(join(tmpdir(), 'agentctl-state-'));
  journals = join(state, 'agentctl', 'submissions');
  agentctl = clientCommand(front, { apiKey: 'ak_test' }, { XDG_STATE_HOME: state });
  return () => Promise.all([folder, state].map((path) => rm(path, { recursive: true })));
});

/** Writes a file of requests. */
async function write(name: string, content: string | Buffer): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

const writeCsv = (count: number): Promise<string> =>
  write(
    'requests.csv',
    `custom_id,message\n${Array.from({ length: count }, (_, index) => `q${index + 1},Message ${index + 1}\n`).join('')}`,
  );

const serveAll = (): void => {
  front.serve = (request) => batches.serve(request);
};

const submitArgs = (file: string, ...args: string[]) => ['batch', 'submit', file, '--agent', agent, ...args];
async function submitCsv(count: number): Promise<string> {
  const file = await writeCsv(count);
  await agentctl.json(...submitArgs(file));
  return file;
}

/** The exit code of a command, and its output as JSON. */
async function outcomeOf(...args: string[]): Promise<[code: number | null, output: unknown]> {
  const { code, stdout } = await agentctl.run(...args, '--json');
  return [code, JSON.parse(stdout)];
}

const creations = () => front.requests.filter(isCreation);
/** The requests of all batches. */
const sent = () => batches.taken.flatMap(({ body }) => JSON.parse(body).requests);

describe('a CSV file of requests', () => {
  const fields = ['custom_id', 'message', 'agent_id', 'history_id'];

  it.each<[string, string | Buffer, string[], object[]]>([
    [
      'quotes, line breaks in cells, CRLF',
      'message,custom_id\r\n"a ""b"", c",1\r\n"two\r\nlines",2\r\n',
      [],
      [
        { custom_id: '1', message: 'a "b", c' },
        { custom_id: '2', message: 'two\r\nlines' },
      ],
    ],
    [
      'a byte order mark before a quoted header, semicolons',
      '\ufeff"message";"custom_id"\n"a;b";1\n',
      [],
      [{ custom_id: '1', message: 'a;b' }],
    ],
    ['tabs, CR', 'message\tcustom_id\ra,b\t1\r', [], [{ custom_id: '1', message: 'a,b' }]],
    [
      'blank rows, and no line break at the end',
      '\nmessage,name\n"a\nb",\n\n , \nc,n',
      [],
      [
        { custom_id: 'line-3', message: 'a\nb' },
        { custom_id: 'line-7', message: 'c', name: 'n' },
      ],
    ],
    [
      'names in another case, uuids and a number',
      `Message, ATTACHED_FILE_UUIDS ,history_id\na,${agent} ${agent},12\n`,
      [],
      [{ custom_id: 'line-2', message: 'a', attached_file_uuids: [agent, agent], history_id: 12 }],
    ],
    [
      'columns of other names',
      'id,Question,Topic\n1,a,t\n',
      ['--column', 'custom_id=id', '--column', 'message=question', '--ignore-other-columns'],
      [{ custom_id: '1', message: 'a' }],
    ],
  ])('is read: %s', async (_, content, args, requests) => {
    await agentctl.json(...submitArgs(await write('requests.csv', content), ...args));
    expect(sent()).toEqual(requests);
  });

  it.each<[string, string | Buffer, string]>([
    ['an unknown column', 'message,Topic\na,b\n', 'line 1, column 2: Topic is no field'],
    [
      'a column twice',
      'message,name,Message\na,b,c\n',
      'line 1, column 3: Message is also the name of column 1',
    ],
    ['no message', 'name\na\n', 'line 1: no column is message'],
    [
      'a short row',
      'message,name\n"a\nb",n\nc\n',
      'line 4, column 2 (name) is missing: the row has 1 of 2 cells',
    ],
    ['a long row', 'message,name\n"a\r\nb",n\nc,n,x\n', 'line 4, column 3 is too many: the header has 2'],
    ['a wrong value', 'message,agent_id\n\na,x\n', 'line 3, column 2 (agent_id) must be a UUID'],
    [
      'an id twice',
      'message,custom_id\na,1\nb,1\n',
      'line 3, column 2 (custom_id) is the same as that of line 2',
    ],
    [
      'an open quotation mark',
      'message,name\na,b\nc,"d\n\n\n',
      'line 3, column 2: the quotation mark of this cell is',
    ],
    [
      'another encoding',
      Buffer.from('message\nM\xfcller\n', 'latin1'),
      'line 2, column 1 (message) is not UTF-8',
    ],
    ['UTF-16', Buffer.from('\ufeffmessage\na\n', 'utf16le'), 'line 1, column 1 is UTF-16'],
  ])('with a mistake is not sent: %s', async (_, content, said) => {
    const file = await write('requests.csv', content);
    const { code, stderr } = await agentctl.run(...submitArgs(file));
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${file} ${said}`)]);
    expect(stderr.trim().split('\n').length).toBe(1);
    expect(creations()).toEqual([]);
  });

  it('has a line for each of its first 20 mistakes', async () => {
    const mistakes = (count: number) => write('requests.csv', `message,name\n${',n\n'.repeat(count)}`);
    const { stderr } = await agentctl.run(...submitArgs(await mistakes(20)));
    expect(stderr.split('\n').slice(19)).toEqual([
      expect.stringContaining('line 21, column 1 (message) is required'),
      expect.stringMatching(/has 20 mistakes; nothing was sent$/),
      '',
    ]);
    const more = await agentctl.run(...submitArgs(await mistakes(21)));
    expect(more.stderr.split('\n').slice(19)).toEqual([
      expect.stringContaining('line 21, column 1'),
      expect.stringMatching(/has 21 mistakes, the first 20 are above; nothing was sent$/),
      '',
    ]);
  });

  it.each([
    [['--column', 'topic=x'], new RegExp(`FIELD=NAME, with a field of ${fields[0]}`)],
    [['--column', 'name=x', '--column', 'name=y'], /name has two columns/],
  ])('is not read with %j', async (args, said) => {
    expect(await agentctl.run(...submitArgs(await writeCsv(1), ...args))).toMatchObject(ended(2, said));
  });
});

describe('a dry run', () => {
  it.each([
    [1000, 1],
    [1001, 2],
  ])('counts %i requests in %i batches, and sends nothing', async (count, expected) => {
    const file = await writeCsv(count - 1);
    await appendFile(file, 'last,😀\n');
    const size = await agentctl.json('batch', 'submit', file, '--dry-run');
    const characters =
      Array.from({ length: count - 1 }, (_, index) => `Message ${index + 1}`).join('').length + 1;
    expect(size).toEqual({ file, requests: count, batches: expected, characters, submitted_before: 0 });
    expect(front.requests).toEqual([]);
  });

  it('counts what is left of a file', async () => {
    const file = await submitCsv(3);
    await appendFile(file, 'q4,more\n');
    expect(await agentctl.json('batch', 'submit', file, '--dry-run')).toMatchObject({
      requests: 1,
      characters: 4,
      submitted_before: 3,
    });
  });
});

it('may have other columns after a run that has sent nothing, and not after one that has', async () => {
  const file = await write('requests.csv', 'id,Question\n1,Why?\n');
  expect((await agentctl.run(...submitArgs(file))).stderr).toContain('id is no field of a request');
  const columns = ['--column', 'custom_id=id', '--column', 'message=Question'];
  await agentctl.json(...submitArgs(file, ...columns));
  expect(sent()).toEqual([{ custom_id: '1', message: 'Why?' }]);
  expect((await agentctl.run(...submitArgs(file))).stderr).toBe(
    `${file} was submitted with other columns; use the same to continue, or submit the whole file again with --again\n`,
  );
});

describe('the end of the requests of a file', () => {
  it.each<[string, number, (id: string) => string | undefined, object]>([
    ['all have succeeded', 0, () => undefined, { succeeded: 1001, failed: 0, reasons: [] }],
    [
      'some have failed',
      3,
      (id) => (id === 'q1' || id === 'q1001' ? 'Broken' : id === 'q5' ? 'Slow' : undefined),
      {
        succeeded: 998,
        failed: 3,
        reasons: [
          { error_code: 500, error_message: 'Broken', requests: 2 },
          { error_code: 500, error_message: 'Slow', requests: 1 },
        ],
      },
    ],
    [
      'all have failed',
      4,
      () => 'Broken',
      { succeeded: 0, failed: 1001, reasons: [{ error_code: 500, error_message: 'Broken', requests: 1001 }] },
    ],
  ])('is the exit code and the summary over all batches: %s', async (_, exitCode, failureOf, outcome) => {
    batches.failureOf = failureOf;
    const file = await writeCsv(1001);
    const waited = await outcomeOf(...submitArgs(file, '--wait'));
    expect(waited).toMatchObject([exitCode, { requests: 1001, ...outcome }]);
    expect(await outcomeOf('batch', 'status', file, '--watch')).toMatchObject([exitCode, outcome]);
    const out = join(folder, 'out.csv');
    expect(await outcomeOf('batch', 'results', file, '--out', out)).toMatchObject([exitCode, outcome]);
    // Nothing but what was asked for is next to the file, and nobody else reads the journal.
    expect(await readdir(folder)).toEqual(['out.csv', 'requests.csv']);
    const [journal = ''] = await readdir(journals);
    expect((await stat(journals)).mode & 0o777).toBe(0o700);
    expect((await stat(join(journals, journal))).mode & 0o777).toBe(0o600);
  });

  it('has ten reasons for a person, and counts the others', async () => {
    batches.failureOf = (id) => `Reason ${Math.min(11, Number(id.slice(1)))}`;
    const { stdout } = await agentctl.run(...submitArgs(await writeCsv(12), '--wait'));
    expect(stdout.trimEnd().split('\n').slice(-12)).toEqual([
      '0 of 12 requests succeeded, 12 failed',
      '  2 × 500 Reason 11',
      ...Array.from({ length: 9 }, (_, index) => `  1 × 500 Reason ${index + 1}`),
      '  1 × 1 other reasons',
    ]);
  });

  it('is known of a cancelled batch by its requests', async () => {
    batches.failureOf = () => 'Batch was cancelled';
    await agentctl.json(...submitArgs(await writeCsv(2)));
    const [batch] = batches.taken;
    if (batch !== undefined) batch.resource.status = 'cancelled';
    expect((await agentctl.run('batch', 'status', batch?.resource.id ?? '', '--watch')).code).toBe(4);
  });
});

describe('the results of a file', () => {
  it('have each row once, in its order, with the result of its last attempt', async () => {
    let isBroken = true;
    batches.failureOf = (id) =>
      id === 'q2' || (isBroken && ['q5', 'q1000', 'q1001'].includes(id)) ? `No ${id}` : undefined;
    const file = await submitCsv(1001);
    isBroken = false;
    expect(await outcomeOf('batch', 'retry-failed', file, '--wait')).toMatchObject([
      3,
      { retried: 4, succeeded: 1000, failed: 1, reasons: [{ error_message: 'No q2', requests: 1 }] },
    ]);
    expect(batches.taken.map(({ customIds }) => customIds.slice(-2))).toEqual([
      ['q999', 'q1000'],
      ['q1001'],
      ['q1000', 'q1001'],
    ]);
    // A new row is submitted, and another one is not yet.
    await appendFile(file, 'q1002,"Message\n1002"\n');
    await agentctl.json(...submitArgs(file));
    await appendFile(file, 'q1003,Message 1003\n');

    const out = join(folder, 'out.jsonl');
    const joined = await outcomeOf('batch', 'results', file, '--out', out);
    expect(joined).toMatchObject([3, { requests: 1003, succeeded: 1001, failed: 1 }]);
    const written = await readJsonLines(out);
    expect(written.map(({ custom_id }) => custom_id)).toEqual(
      Array.from({ length: 1003 }, (_, index) => `q${index + 1}`),
    );
    const [first, second, third] = batches.taken.map(({ resource }) => resource.id);
    const ids = { history_id: 7, message_id: 8 };
    expect([0, 1, 4, 1002].map((index) => written[index])).toEqual([
      {
        ...{ line: 2, custom_id: 'q1', message: 'Message 1', status: 'success', ...ids, batch_id: first },
        ...{ response_content: '=Reply to q1', error_code: null, error_message: null },
      },
      {
        ...{ line: 3, custom_id: 'q2', message: 'Message 2', status: 'failed', ...ids, batch_id: third },
        ...{ response_content: null, error_code: 500, error_message: 'No q2' },
      },
      expect.objectContaining({ custom_id: 'q5', status: 'success', batch_id: third }),
      {
        ...{ line: 1005, custom_id: 'q1003', message: 'Message 1003', status: 'not_submitted' },
        ...{ response_content: null, error_code: null, error_message: null },
        ...{ history_id: null, message_id: null, batch_id: null },
      },
    ]);
    expect(written[1000]?.batch_id).toBe(third);
    expect(second).not.toBe(third);
  });

  it('are CSV by the name of the output, and safe for a spreadsheet on request', async () => {
    batches.failureOf = () => undefined;
    const file = await write('requests.jsonl', '{"message":"a \\"b\\",\\nc"}\n');
    await agentctl.json(...submitArgs(file));
    const id = batches.taken[0]?.resource.id;
    const header =
      'line,custom_id,message,status,response_content,error_code,error_message,history_id,message_id,batch_id\n';
    const out = join(folder, 'out.csv');
    await agentctl.json('batch', 'results', file, '--out', out);
    const lineOf = (reply: string) => `1,line-1,"a ""b"",\nc",success,${reply},,,7,8,${id}\n`;
    expect(await readFile(out, 'utf8')).toBe(header + lineOf('=Reply to line-1'));
    await agentctl.json('batch', 'results', file, '--out', out, '--for-spreadsheet');
    expect(await readFile(out, 'utf8')).toBe(`\ufeff${header}${lineOf("'=Reply to line-1")}`);
  });

  it('of a batch that has not ended are its states so far', async () => {
    const file = await submitCsv(2);
    const out = join(folder, 'out.jsonl');
    const { code, stdout } = await agentctl.run('batch', 'results', file, '--out', out);
    expect([code, stdout]).toEqual([
      3,
      expect.stringContaining('0 of 2 requests succeeded, 2 without a result yet'),
    ]);
    expect((await readJsonLines(out)).map(({ status }) => status)).toEqual(['pending', 'pending']);
  });

  it('are not written if the file has changed', async () => {
    batches.failureOf = () => undefined;
    const file = await submitCsv(2);
    await write('requests.csv', 'custom_id,message\nq1,Other\nq2,Message 2\n');
    expect(await agentctl.run('batch', 'results', file, '--out', join(folder, 'out.csv'))).toMatchObject(
      ended(1, /lines 2 to 3 have changed/),
    );
    expect(await readdir(folder)).toEqual(['requests.csv']);
  });

  it('leave nothing at Ctrl-C', async () => {
    batches.failureOf = () => undefined;
    const file = await submitCsv(2);
    const out = join(folder, 'out.csv');
    const running = agentctl.start(['batch', 'results', file, '--out', out]);
    front.serve = (request) => {
      if (request.path.includes('/results')) running.child.kill('SIGINT');
      else batches.serve(request);
    };
    expect(await running.ended).toMatchObject(ended(130, `Stopped. ${out} is unchanged.\n`));
    expect(await readdir(folder)).toEqual(['requests.csv']);
  });

  it.each([
    ['requests.csv', 1, /was not submitted from this path/],
    ['missing.csv', 1, /missing.csv is neither the id of a batch nor a file/],
    ['requests.csv requests.csv', 2, /or one submitted file/],
  ])('are not found: %s', async (names, exitCode, said) => {
    await writeCsv(1);
    const files = names.split(' ').map((name) => join(folder, name));
    expect(await agentctl.run('batch', 'results', ...files, '--out', join(folder, 'out.csv'))).toMatchObject(
      ended(exitCode, said),
    );
  });
});

describe('agentctl batch retry-failed', () => {
  const retry = (file: string, ...args: string[]) =>
    agentctl.run('batch', 'retry-failed', file, '--json', ...args);

  it('continues when it was killed, sends nothing twice, and starts another retry only when that has ended', async () => {
    batches.failureOf = () => 'Broken';
    const file = await submitCsv(1500);
    batches.failureOf = undefined;
    const running = agentctl.start(['batch', 'retry-failed', file]);
    front.serve = batches.serveWith((request) => {
      if (batches.taken.length < 3) return batches.serve(request);
      batches.create(request);
      running.child.kill('SIGKILL');
    });
    expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
    serveAll();
    expect((await retry(file)).code).toBe(0);
    expect(batches.taken.map(({ customIds }) => customIds.length)).toEqual([1000, 500, 1000, 500]);
    expect(new Set(batches.taken.slice(2).flatMap(({ customIds }) => customIds)).size).toBe(1500);
    // The retry has not ended, so it is not repeated.
    expect(JSON.parse((await retry(file)).stdout)).toMatchObject({ retried: 0 });
    expect(batches.taken.length).toBe(4);
    for (const batch of batches.taken.slice(2))
      batches.end(batch, (id) => (id === 'q7' ? 'Broken' : undefined));
    expect(JSON.parse((await retry(file, '--dry-run')).stdout)).toMatchObject({
      ...{ requests: 1, batches: 1, characters: 'Message 7'.length },
    });
    expect(batches.taken.length).toBe(4);
    batches.failureOf = () => undefined;
    const last = await retry(file, '--wait');
    expect([last.code, JSON.parse(last.stdout)]).toMatchObject([
      0,
      { retried: 1, succeeded: 1500, failed: 0 },
    ]);
    expect(batches.taken.at(-1)?.customIds).toEqual(['q7']);
    expect(await agentctl.run('batch', 'retry-failed', file)).toMatchObject({
      code: 0,
      stdout: `${file}: nothing to submit again\n`,
    });
  });

  it('sends requests with the same custom id in batches of their own', async () => {
    batches.failureOf = (id) => (id === 'same' ? 'Broken' : undefined);
    const others = Array.from({ length: 999 }, (_, index) => `q${index},a\n`).join('');
    const file = await write('requests.csv', `custom_id,message\nsame,a\n${others}same,b\n`);
    await agentctl.json(...submitArgs(file));
    expect(JSON.parse((await retry(file)).stdout).submitted).toMatchObject([
      { from_line: 2, to_line: 2 },
      { from_line: 1002, to_line: 1002 },
    ]);
  });

  it.each([
    ['a file that was not submitted', async () => writeCsv(1), /was not submitted from this path/],
    [
      'batches that have not ended',
      () => submitCsv(1),
      /1 batch of .* has not ended: agentctl batch status FILE --watch waits/,
    ],
    [
      'a file that has not been submitted completely',
      async () => {
        const file = await submitCsv(1);
        await appendFile(file, 'q2,b\n');
        return file;
      },
      /1 request of .* not submitted yet: agentctl batch submit continues/,
    ],
  ])('refuses %s', async (_, prepare, said) => {
    expect(await retry(await prepare())).toMatchObject(ended(1, said));
    expect(batches.taken.length).toBeLessThan(2);
  });
});

describe('agentctl batch submit', () => {
  it('sends the next batch as soon as one of the file has ended', async () => {
    front.serve = batches.serveWith((request) => {
      const [first] = batches.taken;
      if (first === undefined || first.failures !== undefined) return batches.serve(request);
      batches.end(first, () => undefined);
      const message = 'The workspace has 1 open batches';
      // Longer than the test may take.
      request.respond(429, { data: null, message, error_code: 10029 }, { 'Retry-After': '3600' });
    });
    expect(await agentctl.run(...submitArgs(await writeCsv(1001)))).toMatchObject(
      ended(0, /^The workspace .* trying again in \d{4}\.\d s, or when a batch has ended\n$/),
    );
    expect(batches.customIds.length).toBe(1001);
  });

  it('says at Ctrl-C what goes on, and how to continue', async () => {
    const file = await writeCsv(2500);
    const webhook = ['--webhook-url', 'https://example.com/a b', '--webhook-secret', 'hush'];
    const running = agentctl.start(submitArgs(file, '--again', ...webhook));
    front.serve = batches.serveWith((request) => {
      if (batches.taken.length < 1) return batches.serve(request);
      running.child.kill('SIGINT');
    });
    const { code, stderr } = await running.ended;
    expect([code, stderr.trimEnd().split('\n')]).toEqual([
      130,
      [
        'Stopped. 1 batch with 1,000 requests goes on in the service.',
        '1,000 requests being sent: the next run finds out what arrived.',
        '500 requests not submitted yet.',
        expect.stringMatching(/^To go on: /),
      ],
    ]);
    const command = stderr.trimEnd().split('\n').at(-1)?.replace('To go on: ', '') ?? '';
    expect(command).not.toContain('hush');
    serveAll();
    const again = startProgram(['sh', '-c', command.replace('…', 'hush')], agentctl.variables);
    expect((await again.ended).code).toBe(0);
    expect(batches.customIds).toEqual(Array.from({ length: 2500 }, (_, index) => `q${index + 1}`));
  });

  it('moves the journal of an earlier version, and so sends nothing twice', async () => {
    const file = await submitCsv(3);
    const [journal = ''] = await readdir(journals);
    await rename(join(journals, journal), `${file}.submission`);
    expect(await agentctl.json(...submitArgs(file))).toMatchObject({ earlier_batches: 1 });
    expect([batches.taken.length, await readdir(folder)]).toEqual([1, ['requests.csv']]);
  });
});
