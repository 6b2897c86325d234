import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { UploadedFile } from '#contract/message.ts';
import { checkEnded, runBatch } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type ModelCall, replyWith, type ScriptedModel } from '#support/model-server.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { png } from '#support/sample-files.ts';
import { startScriptedBedrock } from '#support/scripted-bedrock.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { contentsOf, createChat, historyOf, send, stepThrough } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';
import { showProviderErrors } from '../../bin/local/show-provider-errors.ts';

/** Longer than all waits between four calls together, which are at most 4.4 s. */
const streamTimeoutSeconds = '6';

const logged: string[] = [];
type Wire = 'openai' | 'bedrock';
const wires: readonly Wire[] = ['openai', 'bedrock'];

const models: Record<Wire, ScriptedModel> = {
  openai: closeAfterTests(await startScriptedModel()),
  bedrock: closeAfterTests(await startScriptedBedrock()),
};
const service = await useService({
  variables: {
    OPENAI_BASE_URL: models.openai.url,
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: models.bedrock.url,
    STREAM_TIMEOUT_SECONDS: streamTimeoutSeconds,
    SHOW_PROVIDER_ERRORS: 'true',
  },
  maxConcurrency: 6,
  onLog: ({ line }) => logged.push(line),
});

const busy = { code: 10005, message: 'The model is busy: try again later' };
const unreachable = { code: 10005, message: 'The model cannot be reached: try again later' };
const rejected = { code: 10005, message: 'The model refused the request' };
const tooLong = { code: 10005, message: 'The message is too long for the model' };
const filtered = { code: 10005, message: 'The reply was cut by the content filter of the model' };
const empty = { code: 10005, message: 'The model gave an empty reply' };
const timedOut = { code: 10005, message: 'Stream timed out' };
const broken = { code: 10005, message: 'The model could not complete the reply' };

interface Failure {
  name: string;
  /** The chunks that the model sends before it fails. */
  says?: string[];
  fails: (call: ModelCall, attempt: number) => void;
  /** The number of calls of the model. */
  received: number;
  /** How many of the calls the reply's usage counts, by default one. */
  counted?: 0;
  /** The reply's error; undefined if the reply `Here I am` is complete in the end. */
  error?: { code: number; message: string };
  /** The provider rejects the content: the next prompt is without this turn. */
  ofContent?: true;
}

const respond = (call: ModelCall): void => replyWith(call, 'Here I am');
const sayLast = (call: ModelCall, bytes: string): void => {
  call.raw(`${bytes}\n\n`);
  call.end();
};
const rejectInStream = (call: ModelCall): void => call.failInStream('invalid request');
const filter = (call: ModelCall): void => call.cut('content_filter');
const sayHtml = (call: ModelCall): void => sayLast(call, '<html>Bad gateway</html>');
const sayBrokenJson = (call: ModelCall): void => sayLast(call, 'data: {"choices": [{]}');
const soon = { 'retry-after-ms': '5' };

/** The model replies at last. */
const recovers = (name: string, times: number, fails: (call: ModelCall) => void): Failure => ({
  ...{ name, received: times + 1 },
  fails: (call, attempt) => (attempt <= times ? fails(call) : respond(call)),
});
/** A failure without a reply, of so many calls. */
const ends = (
  name: string,
  received: number,
  error: NonNullable<Failure['error']>,
  fails: (call: ModelCall) => void,
  more: Pick<Failure, 'counted' | 'ofContent' | 'says'> = {},
): Failure => ({ ...{ name, received, error, fails }, ...more });
const uncounted = { counted: 0 } as const;
const ofContent = { ofContent: true } as const;
const afterWords = { says: ['One, ', 'two'] };
const inAnHour = { 'Retry-After': '3600' };
const inOneSecond = () => ({ 'Retry-After': new Date(Date.now() + 1000).toUTCString() });

const failures: Failure[] = [
  recovers('429 with Retry-After, then an answer', 1, (call) => call.fail(429, { 'Retry-After': '1' })),
  recovers('429 with a date, then an answer', 2, (call) => call.fail(429, inOneSecond())),
  ends('429 and nothing else', 4, busy, (call) => call.fail(429, soon), uncounted),
  ends('429 for longer than a reply waits', 1, busy, (call) => call.fail(429, inAnHour), uncounted),
  recovers('500, then an answer', 1, (call) => call.fail(500, soon)),
  ends('500 and nothing else', 4, unreachable, (call) => call.fail(500, soon), uncounted),
  recovers('503 for half a second', 1, (call) => call.fail(503)),
  ...[400, 422].map((status) =>
    ends(`${status}`, 1, rejected, (call) => call.fail(status), { ...uncounted, ...ofContent }),
  ),
  ends('413', 1, tooLong, (call) => call.fail(413), { ...uncounted, ...ofContent }),
  ...[401, 403, 404].map((status) => ends(`${status}`, 1, rejected, (call) => call.fail(status), uncounted)),
  recovers('a server error in the stream before the first word, then an answer', 1, (call) =>
    call.failInStream('server error'),
  ),
  recovers('a throttling in the stream before the first word, then an answer', 1, (call) =>
    call.failInStream('throttled'),
  ),
  ends('a refusal in the stream before the first word', 1, rejected, rejectInStream, {
    ...uncounted,
    ...ofContent,
  }),
  ...(
    [
      ['a refusal', 'invalid request', rejected, ofContent],
      ['a server error', 'server error', unreachable, {}],
      ['a throttling', 'throttled', busy, {}],
    ] as const
  ).map(([what, kind, error, more]) =>
    ends(`${what} in the stream behind some words`, 1, error, (call) => call.failInStream(kind), {
      ...afterWords,
      ...more,
    }),
  ),
  recovers('a connection cut before the headers, then an answer', 1, (call) => call.reset()),
  ends('connections cut and nothing else', 4, unreachable, (call) => call.reset(), uncounted),
  ends('a connection cut after some words', 1, unreachable, (call) => call.reset(), afterWords),
  ends('an end without a word', 1, broken, (call) => call.end(), uncounted),
  ends('an end without a finish', 1, broken, (call) => call.end(), afterWords),
  ends('an empty answer', 1, empty, (call) => call.finish()),
  ends('a reply cut by a filter', 1, filtered, filter, { says: ['One, '], ...ofContent }),
  ends('a filter at once', 1, filtered, filter, ofContent),
  ends('garbage at once', 1, broken, sayHtml, uncounted),
  ends('garbage after some words', 1, broken, sayBrokenJson, afterWords),
  ends('silence at once', 1, timedOut, () => undefined),
  ends('silence after some words', 1, timedOut, () => undefined, afterWords),
];

const scripts = { openai: scriptByMessage(models.openai), bedrock: scriptByMessage(models.bedrock) };

describe.each(wires)('a model on the wire of %s', async (wire) => {
  const script = scripts[wire];
  const tenant = await openTenant(service, { model: `${wire}:scripted`, titles: false, openai: true });
  const { client } = tenant;

  it.concurrent.for(failures)('that answers with $name', async (failure, { expect }) => {
    const { name, says = [], fails, received, counted = 1, error, ofContent = false } = failure;
    const text = error === undefined ? 'Here I am' : says.join('');
    const chatId = await createChat(client, tenant);
    const { promise: called, resolve } = Promise.withResolvers<ModelCall>();
    const calls = script(name, (call, attempt) => (says.length > 0 ? resolve(call) : fails(call, attempt)));
    const reader = stepThrough(await client.stream(chatId, { message: name, agent_id: tenant.agentId }));
    expect(await reader.next()).toMatchObject({ type: 'response.created', model: `${wire}:scripted` });
    for (const chunk of says) {
      (await called).chunk(chunk);
      expect(await reader.next()).toMatchObject({ type: 'response.output_text.delta', delta: chunk });
    }
    if (says.length > 0) fails(await called, 1);
    const rest = await reader.rest();
    expect(rest).toMatchObject(
      error === undefined
        ? [
            { type: 'response.output_text.delta', delta: text },
            { type: 'response.output_text.completed', final_text: text },
            '[DONE]',
          ]
        : [{ type: 'response.error', ...error }, '[DONE]'],
    );
    expect(calls).toHaveLength(received);

    const history = await historyOf(client, chatId);
    expect(contentsOf(history)).toEqual([name, text]);
    expect(history[1]?.meta.error).toEqual(error);
    expect(history[1]?.meta.token_usage?.total_calls).toBe(counted);

    const after = `after ${name}`;
    const callsAfter = script(after, respond);
    expect(await send(client, tenant, chatId, after)).toMatchObject({
      status: 200,
      body: { data: 'Here I am', error_code: 0 },
    });
    expect(contentsOf(await historyOf(client, chatId))).toEqual([name, text, after, 'Here I am']);
    const last = { role: 'user', content: after };
    const withReply = [{ role: 'user', content: name }, { role: 'assistant', content: text }, last];
    // Some models reject two user messages in a row.
    const withoutReply = [{ role: 'user', content: `${name}\n\n${after}` }];
    expect(callsAfter[0]?.request.messages).toEqual(
      ofContent ? [last] : text === '' ? withoutReply : withReply,
    );
  });

  it('that rejects two turns in a row gets both with the third: the reason was not their content', async () => {
    const chatId = await createChat(client, tenant);
    const prompts: string[][] = [];
    const messages = ['one', 'two', 'three', 'four', 'five', 'six'].map((text) => `${text} with a wrong key`);
    for (const [index, message] of messages.entries()) {
      const calls = script(message, (call) => (index >= 4 ? respond(call) : call.fail(400)));
      expect((await send(client, tenant, chatId, message)).status).toBe(index >= 4 ? 200 : 500);
      prompts.push(calls.map(({ request }) => request.messages.map(({ content }) => content).join('\n\n')));
    }
    const [one, two, three, four, five, six] = messages;
    expect(prompts).toEqual(
      [
        [[one]],
        [[two]],
        // The third turn is tried with both and without them.
        [[one, two, three], [three]],
        [[four]],
        [[one, two, three, four, five]],
        [[one, two, three, four, five, 'Here I am', six]],
      ].map((calls) => calls.map((contents) => contents.join('\n\n'))),
    );
    const history = contentsOf(await historyOf(client, chatId));
    expect(history.filter((_, index) => index % 2 === 0)).toEqual(messages);
  });

  // Chunks may be lost with a connection that is cut, so such a run has no certain number of calls.
  const failing = failures.filter(({ name, error }) => error !== undefined && !name.includes('cut after'));
  it.concurrent.for(failing)(
    'that answers with $name gets no second run from OpenAI’s client, whose own retries are on',
    async ({ name, says = [], fails, received, error }, { expect }) => {
      const openai = new OpenAI({ apiKey: tenant.apiKey, baseURL: `${service.baseUrl}/openai` });
      const complete = async (stream: boolean) => {
        const content = `${name}, for OpenAI, ${stream}`;
        const calls = script(content, (call, attempt) => {
          for (const chunk of says) call.chunk(chunk);
          fails(call, attempt);
        });
        const request = { model: tenant.agentId, messages: [{ role: 'user' as const, content }] };
        const work = stream
          ? openai.chat.completions
              .create({ ...request, stream })
              .then((chunks) => Array.fromAsync(chunks))
              .then((chunks) => chunks.at(-1)?.choices[0]?.finish_reason)
          : openai.chat.completions.create(request).then(({ choices }) => choices[0]?.finish_reason);
        const outcome = await work.catch((error: unknown) => error);
        if (name === 'an empty answer') expect(outcome).toBe('stop');
        else if (error === filtered) expect(outcome).toBe('content_filter');
        else expect(outcome).toBeInstanceOf(OpenAI.APIError);
        expect(calls).toHaveLength(received);
      };
      await Promise.all([complete(false), complete(true)]);
    },
  );

  it('whose provider rejects a call: its text goes to the terminal once a minute and status, its type to the log', async () => {
    const shown: string[] = [];
    let now = 0;
    const end = showProviderErrors(
      (line) => shown.push(line),
      () => now,
    );
    const rejectWith = async (status: number, at: number): Promise<string | null> => {
      now = at;
      script('canary', (call) => call.fail(status, {}, `canary of ${at}`));
      const { headers } = await send(client, tenant, await createChat(client, tenant), 'canary');
      return headers.get('x-request-id');
    };
    const requestId = await rejectWith(401, 0);
    await rejectWith(401, 59_999);
    await rejectWith(403, 59_999);
    await rejectWith(401, 60_000);
    await rejectWith(404, 80_000);
    await expect.poll(() => shown.at(-1)).toContain('canary of 80000');
    end();
    const texts = shown.map((line) => line.replace(/: .*(canary of \d+).*/, ': $1'));
    const before = 'The model provider responded with status';
    expect(texts).toEqual([
      `${before} 401: canary of 0`,
      `${before} 403: canary of 59999`,
      `${before} 401: canary of 60000`,
      `${before} 404: canary of 80000`,
    ]);
    const ofRequest = logged.filter((line) => line.includes(`"request_id":"${requestId}"`)).join();
    expect(ofRequest).toMatch(
      wire === 'openai' ? /status 401 \(type scripted\)/ : /status 401 \(type \w+Exception\)/,
    );
    expect(logged.filter((line) => line.includes('canary'))).toEqual([]);
  });

  it('that is busy: a JSON answer says so as a stream does, with the request id', async () => {
    script('busy', (call) => call.fail(429));
    const { status, headers, body } = await send(client, tenant, await createChat(client, tenant), 'busy');
    const message = `${busy.message}, request id ${headers.get('x-request-id')}`;
    expect([status, body]).toEqual([500, { data: null, error_code: 10005, message }]);
  });

  describe('whose context window is full', () => {
    /** A chat of four turns; then the numbers of messages in each call of the next turn. */
    const lastTurnOf = async (name: string, fits: (messages: number) => boolean) => {
      const chatId = await createChat(client, tenant);
      for (const turn of ['first', 'second', 'third', 'fourth']) {
        script(`${turn} ${name}`, respond);
        expect((await send(client, tenant, chatId, `${turn} ${name}`)).status).toBe(200);
      }
      const calls = script(name, (call) =>
        fits(call.request.messages.length)
          ? respond(call)
          : call.fail(400, {}, `litellm.ContextWindowExceededError: scripted ${name}`),
      );
      const reply = await send(client, tenant, chatId, name);
      return { chatId, reply, calls, received: () => calls.map(({ request }) => request.messages.length) };
    };

    it('is asked once more with the later half of the earlier messages', async () => {
      const name = 'half of it fits';
      const { chatId, reply, calls, received } = await lastTurnOf(name, (messages) => messages <= 5);
      expect(reply).toMatchObject({ status: 200, body: { data: 'Here I am' } });
      expect(received()).toEqual([9, 5]);
      const newest = [`third ${name}`, 'Here I am', `fourth ${name}`, 'Here I am', name];
      expect(calls[1]?.request.messages.map(({ content }) => content)).toEqual(newest);
      const history = await historyOf(client, chatId);
      expect(history.at(-1)?.meta.token_usage).toMatchObject({ total_calls: 1, total_tokens: 18 });
    });

    it('is asked with none of them in the end', async () => {
      const { reply, received } = await lastTurnOf('none of it fits', (messages) => messages === 1);
      expect(reply.status).toBe(200);
      expect(received()).toEqual([9, 5, 1]);
    });

    it('has too long a message: that is the reason, and the chat takes a shorter one', async () => {
      const name = 'nothing fits';
      const { chatId, reply, received } = await lastTurnOf(name, () => false);
      expect(reply).toMatchObject({
        status: 500,
        body: {
          error_code: 10005,
          message: `${tooLong.message}, request id ${reply.headers.get('x-request-id')}`,
        },
      });
      expect(received()).toEqual([9, 5, 1]);
      const failed = (await historyOf(client, chatId)).at(-1);
      expect(failed?.meta).toMatchObject({
        error: tooLong,
        token_usage: { total_calls: 0 },
      });
      script(`shorter than ${name}`, respond);
      expect((await send(client, tenant, chatId, `shorter than ${name}`)).status).toBe(200);
    });

    it('fails a request of a batch at once', async () => {
      const name = 'a request that never fits';
      const calls = script(name, (call) => call.fail(400, {}, 'Input is too long for requested model.'));
      const requests = [{ custom_id: 'one', message: name }];
      const batch = await runBatch(client, tenant, requests);
      expect(await checkEnded(client, batch, requests)).toMatchObject([
        { status: 'failed', error_code: 500, error_message: tooLong.message },
      ]);
      expect(calls).toHaveLength(1);
    });
  });

  it('that reaches its limit of tokens: its text is the reply, which says that it is incomplete', async () => {
    const cut = 'max_output_tokens';
    script('to the limit', (call) => {
      call.chunk('One, ');
      call.chunk('two');
      call.cut('length');
    });
    const message = { message: 'to the limit', agent_id: tenant.agentId };
    const chatId = await createChat(client, tenant);
    expect((await (await client.stream(chatId, message)).all()).slice(-2)).toMatchObject([
      { type: 'response.output_text.completed', final_text: 'One, two', incomplete: cut },
      '[DONE]',
    ]);
    const [, reply] = await historyOf(client, chatId);
    expect(reply).toMatchObject({ content: 'One, two', meta: { incomplete: cut } });
    expect(reply?.meta).not.toHaveProperty('error');
    const respond = await send(client, tenant, chatId, 'to the limit');
    expect(respond).toMatchObject({ status: 200, body: { data: 'One, two', error_code: 0 } });
    expect(respond.headers.get('x-reply-incomplete')).toBe(cut);
    const requests = [{ custom_id: 'one', message: 'to the limit' }];
    const batch = await runBatch(client, tenant, requests);
    expect(await checkEnded(client, batch, requests)).toMatchObject([
      { status: 'success', response_content: 'One, two', incomplete: cut },
    ]);
  });
});

/** What a prompt has of the attached files. */
const fileMarks = ['The text of the file', png.toString('base64')] as const;

describe('a chat whose model fails', async () => {
  const script = scripts.openai;
  const agent = { meta: { vision: true }, unified_tools: [{ type: 'consultant_lookup' }] };
  const tenant = await openTenant(service, { model: 'openai:scripted', titles: false, agent });
  const { client } = tenant;
  const upload = async (...[name, content, type]: [string, string | Buffer, string]) =>
    (dataOf(await uploaderOf(service, tenant).file(name, content, { type })) as UploadedFile).uuid;
  const files = {
    'a.txt': await upload('a.txt', 'The text of the file', 'text/plain'),
    'a.png': await upload('a.png', png, 'image/png'),
  };
  const promptOf = (calls: readonly ModelCall[]): string => JSON.stringify(calls[0]?.request.messages);

  // Silence and lost connections fail a reply as an early end does, but after seconds.
  const failing = failures.filter(
    ({ name, error }) => error !== undefined && !/^silence|connection|longer/.test(name),
  );
  it.concurrent.for(failing)('with $name at files takes the next message', async (failure, { expect }) => {
    const name = `${failure.name} at files`;
    const chatId = await createChat(client, tenant);
    const failed = script(name, (call, attempt) => {
      for (const chunk of failure.says ?? []) call.chunk(chunk);
      failure.fails(call, attempt);
    });
    const attached = { attached_file_uuids: Object.values(files) };
    expect((await send(client, tenant, chatId, name, attached)).status).toBe(500);
    const calls = script(`after ${name}`, respond);
    expect((await send(client, tenant, chatId, `after ${name}`)).status).toBe(200);
    for (const mark of fileMarks) {
      expect(promptOf(failed)).toContain(mark);
      expect(promptOf(calls).includes(mark)).toBe(failure.ofContent !== true);
    }
    expect(promptOf(calls).split(name)).toHaveLength(failure.ofContent === true ? 2 : 3);
    const [rejected] = await historyOf(client, chatId);
    expect(rejected?.content).toBe(name);
    expect(rejected?.attached_files.map(({ uuid }) => uuid)).toEqual(Object.values(files));
  });

  it('finds nothing with its tool of a turn that was rejected', async () => {
    const chatId = await createChat(client, tenant);
    const attached = { attached_file_uuids: [files['a.txt']] };
    script('a rejected text', (call) => call.fail(400));
    expect((await send(client, tenant, chatId, 'a rejected text', attached)).status).toBe(500);
    const calls = script('What text was there?', (call, attempt) => {
      if (attempt === 1) call.callTools({ name: 'consultant_lookup', arguments: { query: 'text' } });
      else call.chunk('None');
      call.finish();
    });
    expect(await send(client, tenant, chatId, 'What text was there?')).toMatchObject({
      body: { data: 'None' },
    });
    expect(calls[1]?.request.messages.at(-1)?.content).toContain('Nothing that was searched matches');
  });

  it.each([1, 2, 3, 4])('at %i images in a row takes the next message', async (count) => {
    const [, mark] = fileMarks;
    const chatId = await createChat(client, tenant);
    const rejectImages = (call: ModelCall) =>
      JSON.stringify(call.request.messages).includes(mark) ? call.fail(400) : respond(call);
    const attached = { attached_file_uuids: [files['a.png']] };
    for (let turn = 1; turn <= count; turn += 1) {
      script(`image ${turn} of ${count}`, rejectImages);
      const { status } = await send(client, tenant, chatId, `image ${turn} of ${count}`, attached);
      expect(status).toBe(500);
    }
    for (const name of ['after', 'long after']) {
      const calls = script(`${name} ${count} images`, rejectImages);
      expect((await send(client, tenant, chatId, `${name} ${count} images`)).status).toBe(200);
      // An even number is tried once, and left out for good.
      expect(calls).toHaveLength(name === 'after' && count % 2 === 0 ? 2 : 1);
      expect(JSON.stringify(calls.at(-1)?.request.messages)).not.toContain('image 1');
    }
  });

  it('at the result of a tool takes the next message, without that turn', async () => {
    const chatId = await createChat(client, tenant);
    script('a rejected result', (call, attempt) => {
      if (attempt === 2) return call.fail(400);
      call.callTools({ name: 'consultant_lookup', arguments: { query: 'text' } });
      call.finish();
    });
    expect((await send(client, tenant, chatId, 'a rejected result')).status).toBe(500);
    const calls = script('after a rejected result', respond);
    expect((await send(client, tenant, chatId, 'after a rejected result')).status).toBe(200);
    expect(calls[0]?.request.messages).toEqual([{ role: 'user', content: 'after a rejected result' }]);
  });

  it('for a request of a batch takes the next one', async () => {
    const chatId = await createChat(client, tenant);
    const run = (message: string) =>
      runBatch(client, tenant, [{ custom_id: 'one', message, history_id: chatId }]);
    script('a rejected request', (call) => call.fail(422));
    const batch = await run('a rejected request');
    const linesOfBatch = logged.filter((line) => line.includes(`"batch_id":"${batch.id}"`));
    expect(linesOfBatch.join()).toContain('status 422 (type scripted)');
    const calls = script('the next request', respond);
    await run('the next request');
    expect(calls[0]?.request.messages).toEqual([{ role: 'user', content: 'the next request' }]);
    expect(contentsOf(await historyOf(client, chatId))[0]).toBe('a rejected request');
  });
});

it('leaves no message and no word of a provider in the logs', () => {
  expect(logged.some((line) => line.includes('A reply was not completed'))).toBe(true);
  const words = [...failures.map(({ name }) => name), 'Here I am', 'One, ', 'scripted 4', 'scripted 5'];
  // Short texts such as 400 are also parts of other texts.
  const revealing = words.filter((word) => word.length > 5);
  expect(logged.filter((line) => revealing.some((word) => line.includes(word)))).toEqual([]);
});

/** Scripts the model by message, so that several messages can be sent concurrently. */
function scriptByMessage(model: ScriptedModel) {
  type Script = (call: ModelCall, attempt: number) => void;
  const entries = new Map<string, { calls: ModelCall[]; script: Script }>();
  model.onCall = (call) => {
    // Files and a previous message without a reply are in the same content, before a blank line or in parts of their own.
    const content: unknown = call.request.messages.findLast(({ role }) => role === 'user')?.content;
    const text = Array.isArray(content) ? content.at(-1).text : content;
    const message = String(text).split('\n\n').at(-1) ?? '';
    const entry = entries.get(message);
    if (entry === undefined) throw new Error(`No script for the message ${message}`);
    entry.script(call, entry.calls.push(call));
  };
  return (message: string, script: Script): readonly ModelCall[] => {
    const calls: ModelCall[] = [];
    entries.set(message, { calls, script });
    return calls;
  };
}
