import { APICallError, type LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { modelFailureOf } from '#agents/model-error.ts';
import { bedrock } from '#agents/models/bedrock.ts';
import { openai } from '#agents/models/openai.ts';
import { type RetryingModel, type RetrySettings, retryingModel } from '#agents/retrying-model.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { freely, freeRetries } from '#support/free-retries.ts';
import type { ModelCall } from '#support/model-server.ts';
import { startScriptedBedrock } from '#support/scripted-bedrock.ts';
import { startScriptedModel } from '#support/scripted-model.ts';

const bedrockServer = closeAfterTests(await startScriptedBedrock());
process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME = bedrockServer.url;
const openaiServer = closeAfterTests(await startScriptedModel());
const wires = {
  openai: {
    server: openaiServer,
    provider: openai({
      baseUrl: () => openaiServer.url,
      apiKey: async () => 'key',
      onSkipped: () => undefined,
    }),
  },
  bedrock: {
    server: bedrockServer,
    provider: bedrock({
      credentials: async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }),
      region: () => 'eu-west-1',
    }),
  },
};

const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Top secret question' }] }];

/** The model's text, and its error if it fails. */
async function send(model: RetryingModel, signal?: AbortSignal): Promise<{ text: string; error?: unknown }> {
  let text = '';
  try {
    for await (const part of await model.stream({ prompt, ...(signal && { abortSignal: signal }) }))
      if (part.type === 'text-delta') text += part.delta;
    return { text };
  } catch (error) {
    return { text, error };
  }
}

describe.each(Object.entries(wires))('on the wire of %s', (wire, { server, provider }) => {
  let model: RetryingModel;
  let waits: number[];
  let time: number;
  const timing: RetrySettings = {
    ...freely,
    now: () => time,
    random: () => 0.5,
    wait: async (milliseconds) => {
      waits.push(milliseconds);
      time += milliseconds;
    },
  };
  beforeEach(() => {
    waits = [];
    time = 0;
    server.calls.length = 0;
    model = retryingModel(provider.model('scripted'), timing);
  });
  const { onCall, onPlainCall } = server;
  afterEach(() => void Object.assign(server, { onCall, onPlainCall }));
  /** The first calls fail with the given failures, one each; later calls get a reply. */
  const failFirst = (...failures: ((call: ModelCall) => void)[]) => {
    server.onCall = (call) => (failures[server.calls.length - 1] ?? onCall)(call);
  };
  const always = (failure: (call: ModelCall) => void) => {
    server.onCall = failure;
  };

  it.each([408, 409, 424, 429, 500, 502, 503, 529])('asks again after HTTP %i', async (status) => {
    failFirst((call) => call.fail(status));
    expect(await send(model)).toEqual({ text: 'Hello' });
    expect(waits).toEqual([250]);
  });

  it('asks again after a connection that is cut before or behind the headers', async () => {
    failFirst(
      (call) => call.reset(),
      (call) => {
        call.raw('');
        setImmediate(() => call.reset());
      },
    );
    expect(await send(model)).toEqual({ text: 'Hello' });
    expect(waits).toEqual([250, 500]);
  });

  it.each(['throttled', 'overloaded', 'server error'] as const)(
    'asks again when the stream begins with an error: %s',
    async (error) => {
      failFirst((call) => call.failInStream(error));
      expect(await send(model)).toEqual({ text: 'Hello' });
    },
  );

  it.each([
    ['a text', (call: ModelCall) => call.chunk('Once')],
    ['a thought', (call: ModelCall) => call.reason('Hmm')],
    ['a call of a tool', (call: ModelCall) => call.callTools({ name: 'look', arguments: {} })],
  ])('never asks again behind %s', async (_, speak) => {
    always((call) => {
      speak(call);
      call.failInStream('server error');
    });
    const { error } = await send(model);
    expect(error).toBeInstanceOf(ModelFailure);
    expect(error).toMatchObject({ kind: 'unavailable' });
    expect(server.calls).toHaveLength(1);
  });

  it('asks once if the stream begins with an error about the content', async () => {
    always((call) => call.failInStream('invalid request'));
    expect((await send(model)).error).toMatchObject({ kind: 'refused', isOfContent: true });
    expect(server.calls).toHaveLength(1);
  });

  it('asks four times at most, and waits twice as long each time', async () => {
    always((call) => call.fail(503));
    expect((await send(model)).error).toMatchObject({
      kind: 'unavailable',
      message: `The provider at ${new URL(server.url).host} answered with status 503 (type ${wire === 'openai' ? 'scripted' : 'ServiceUnavailableException'}), the last of 4 times`,
    });
    expect(server.calls).toHaveLength(4);
    expect(waits).toEqual([250, 500, 1000]);
  });

  it('may wait any time up to the whole one', async () => {
    failFirst(...Array.from({ length: 3 }, () => (call: ModelCall) => call.fail(500)));
    const randoms = [0.01, 0.99, 0.5];
    await send(retryingModel(provider.model('scripted'), { ...timing, random: () => randoms.shift() ?? 0 }));
    expect(waits).toEqual([5, 990, 1000]);
  });

  it.each<[headers: Record<string, string>, wait: number]>([
    [{ 'Retry-After': '7' }, 7000],
    [{ 'Retry-After': '20' }, 20_000],
    [{ 'retry-after-ms': '400', 'Retry-After': '7' }, 400],
    [{ 'retry-after-ms': '0', 'Retry-After': '7' }, 7000],
    [{ 'retry-after-ms': '240' }, 250],
    [{ 'Retry-After': '0.1' }, 250],
    ...['0', '-3', '5, 10', 'NaN', 'Infinity', '1e1', '', 'soon', '2999-01-01', 'May 5'].map(
      (text): [Record<string, string>, number] => [{ 'Retry-After': text }, 250],
    ),
  ])('waits longer than by itself if it is told: %j', async (headers, wait) => {
    failFirst((call) => call.fail(429, headers));
    expect(await send(model)).toEqual({ text: 'Hello' });
    expect(waits).toEqual([wait]);
  });

  it('waits until the time that it is told', async () => {
    const soon = new Date(time + 9000).toUTCString();
    failFirst(
      (call) => call.fail(429, { 'Retry-After': soon }),
      (call) => call.fail(429, { 'Retry-After': soon }),
    );
    expect(await send(model)).toEqual({ text: 'Hello' });
    // The second date has passed then.
    expect(waits).toEqual([9000, 500]);
  });

  it('gives up at once when it is told to wait longer than a reply waits', async () => {
    always((call) => call.fail(429, { 'Retry-After': '21' }));
    expect((await send(model)).error).toMatchObject({
      kind: 'throttled',
      retryAfter: 21_000,
      message: expect.stringContaining('asks to wait 21 s, longer than the 20 s that a reply waits'),
    });
    expect(server.calls).toHaveLength(1);
  });

  it('waits for what another reply is told, also before its first attempt', async () => {
    const shared = provider.model('scripted');
    failFirst((call) => call.fail(429, { 'Retry-After': '7' }));
    let startOther = () => {};
    const other = new Promise<void>((resolve) => {
      startOther = resolve;
    }).then(() => send(retryingModel(shared, timing)));
    const first = retryingModel(shared, {
      ...timing,
      wait: async (milliseconds) => {
        startOther();
        await other;
        time += milliseconds;
      },
    });
    expect(await send(first)).toEqual({ text: 'Hello' });
    // The second reply has moved the clock to the end of its wait.
    expect([waits, time]).toEqual([[7000], 14_000]);
  });

  it('does not wait for what a reply of another model is told, nor after a wait that is too long', async () => {
    const shared = provider.model('scripted');
    failFirst((call) => call.fail(429, { 'Retry-After': '21' }));
    await send(retryingModel(shared, timing));
    failFirst((call) => call.fail(429, { 'Retry-After': '7' }));
    server.calls.length = 0;
    await send(retryingModel(provider.model('scripted'), { ...timing, attempts: 1 }));
    await send(retryingModel(shared, timing));
    expect(waits).toEqual([]);
  });

  it('ends its wait when it is aborted', async () => {
    const stop = new AbortController();
    server.onCall = (call) => {
      call.fail(429, { 'Retry-After': '20' });
      void call.gone.then(() => setImmediate(() => stop.abort()));
    };
    const started = performance.now();
    const { error } = await send(retryingModel(provider.model('scripted'), freeRetries(clock)), stop.signal);
    expect(error).toMatchObject({ name: 'AbortError' });
    expect(performance.now() - started).toBeLessThan(5000);
    expect(server.calls).toHaveLength(1);
  });

  it('asks again for an answer in one piece', async () => {
    server.onPlainCall = (call) => {
      server.onPlainCall = onPlainCall;
      call.fail(503);
    };
    const { content } = await model.generate({ prompt });
    expect(content).toEqual([{ type: 'text', text: 'Short answer' }]);
    expect(waits).toEqual([250]);
  });

  it('lets the provider go when its reader does', async () => {
    const { promise: called, resolve } = Promise.withResolvers<ModelCall>();
    server.onCall = (call) => {
      call.chunk('One');
      resolve(call);
    };
    const deltas = textsOf(await model.stream({ prompt }));
    await deltas.next();
    await deltas.return(undefined);
    await (await called).gone;
  });

  it('tells nothing of the prompt or of what the provider says', async () => {
    for (const failure of [
      (call: ModelCall) => call.fail(400),
      (call: ModelCall) => call.failInStream('invalid request'),
      (call: ModelCall) => {
        call.raw(
          wire === 'openai' ? 'data: {"scripted": [}\n\n' : 'scripted garbage that is no frame at all',
        );
        call.end();
      },
    ]) {
      always(failure);
      const { error } = await send(model);
      expect(error).toBeInstanceOf(ModelFailure);
      expect(`${error} ${JSON.stringify(error)}`.replace('type scripted', '')).not.toMatch(/scripted|secret/);
    }
  });
});

describe('names of errors', () => {
  const failureOf = async (wire: keyof typeof wires, fails: (call: ModelCall) => void) => {
    const { server, provider } = wires[wire];
    server.onCall = fails;
    const model = retryingModel(provider.model('scripted'), { ...freeRetries(clock), attempts: 1 });
    return (await send(model)).error as ModelFailure;
  };
  const kindOf = async (...call: Parameters<typeof failureOf>) => (await failureOf(...call)).kind;

  it.each([
    [400, 'ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/', 'throttled'],
    [429, 'ModelNotReadyException', 'throttled'],
    [424, 'ModelErrorException', 'unavailable'],
    [408, 'ModelTimeoutException', 'unavailable'],
    [400, 'ServiceQuotaExceededException', 'refused'],
    [403, 'ExpiredTokenException', 'refused'],
  ])("AWS's %i %s is %s", async (status, type, kind) => {
    expect(await kindOf('bedrock', (call) => call.fail(status, { 'x-amzn-errortype': type }))).toBe(kind);
  });

  it.each([
    [{ message: 'm', code: 429 }, 'throttled', false],
    [{ message: 'm', code: '503' }, 'unavailable', false],
    [{ message: 'm', type: 'rate_limit_error' }, 'throttled', false],
    [{ message: 'm', type: 'overloaded_error' }, 'throttled', false],
    [{ message: 'm', type: 'server_error', code: null }, 'unavailable', false],
    [{ message: 'm', type: 'server_error', code: 'content_filter' }, 'unavailable', false],
    [{ message: 'm', code: 400 }, 'refused', true],
    [{ message: 'm', code: '422', type: 'authentication_error' }, 'refused', true],
    [{ message: 'm', code: 401, type: 'invalid_request_error' }, 'refused', false],
    [{ message: 'm', type: 'invalid_request_error', code: 'invalid_value' }, 'refused', true],
    [{ message: 'm', type: 'invalid_request_error', code: 'invalid_api_key' }, 'refused', false],
    [{ message: 'm', type: 'authentication_error' }, 'refused', false],
    [{ message: 'm', code: 'model_not_found' }, 'refused', false],
    [{ message: 'm', type: 'content_policy_violation', code: null }, 'refused', true],
    [{ message: 'm', type: 'guardrail_intervened' }, 'refused', true],
    [{ message: 'm', code: 0, type: 'content_filter' }, 'refused', true],
    [{ message: 'm', type: 'invalid_request_error', code: 'context_length_exceeded' }, 'tooLong', true],
    [{ message: 'content_filter' }, 'failed', false],
    ['just a text', 'failed', false],
  ])("%j among OpenAI's events is %s, about the content: %j", async (error, kind, isOfContent) => {
    const failure = await failureOf('openai', (call) => call.raw(`data: ${JSON.stringify({ error })}\n\n`));
    expect(failure).toMatchObject({ kind, isOfContent });
  });

  it.each([
    ...[400, 413, 422].map((status) => [status, true] as const),
    ...[401, 402, 403, 404, 408, 409, 429, 500, 503].map((status) => [status, false] as const),
  ])('status %i is about the content: %j', async (status, isOfContent) => {
    for (const wire of ['openai', 'bedrock'] as const) {
      const failure = await failureOf(wire, (call) => call.fail(status));
      expect(failure).toMatchObject({ isOfContent });
    }
  });

  it.each([
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    'litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - too many\nmodel=m. context_window_fallbacks=None.',
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
    'the request exceeds the available context size, try increasing it',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens',
    'prompt is too long: 205000 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000',
    'Input is too long for requested model.',
    'Too many input tokens. Max input tokens: 128000, request input token count: 130000',
    'Input Tokens Exceeded: Number of input tokens exceeds maximum length.',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
  ])('%j is a request that is too long', async (message) => {
    for (const wire of ['openai', 'bedrock'] as const)
      expect(await kindOf(wire, (call) => call.fail(400, {}, message))).toBe('tooLong');
    expect(
      await kindOf('openai', (call) => call.raw(`data: ${JSON.stringify({ error: { message } })}\n\n`)),
    ).toBe('tooLong');
  });

  it.each([
    [413, 'scripted', 'tooLong'],
    [429, 'Request too large: too many tokens, please wait', 'throttled'],
    [400, 'Unknown parameter: context_window_fallbacks=None', 'refused'],
  ])('%i %j is %s', async (status, message, kind) => {
    expect(await kindOf('openai', (call) => call.fail(status, {}, message))).toBe(kind);
  });
});

async function* textsOf(stream: AsyncIterable<LanguageModelV4StreamPart>): AsyncGenerator<string> {
  for await (const part of stream) if (part.type === 'text-delta') yield part.delta;
}

it.each([
  [
    { type: 'invalid_request_error', code: 'invalid_api_key' },
    ' (type invalid_request_error, code invalid_api_key)',
  ],
  [{ type: null, code: 1214 }, ' (code 1214)'],
  [{ type: 'x'.repeat(64), code: 'x'.repeat(65) }, ` (type ${'x'.repeat(64)})`],
  [{ type: 'Your prompt was: secret', code: 'secret\n' }, ''],
])('names type and code of an error, and no sentence in their place: %j', (error, named) => {
  const failure = modelFailureOf(
    new APICallError({
      message: 'secret',
      ...{ url: 'https://api.test/v1', requestBodyValues: undefined, statusCode: 401 },
      responseBody: JSON.stringify({ error: { message: 'secret', ...error } }),
    }),
    0,
  );
  expect(failure.message).toBe(`The provider at api.test answered with status 401${named}`);
});
