import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import type { KnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import { imageInspector } from '#adapters/images/image-structure.ts';
import { type IndexObjects, KnowledgeIndex } from '#adapters/knowledge/knowledge-index.ts';
import { knowledgeStore } from '#adapters/knowledge/knowledge-store.ts';
import { showAttachments } from '#agents/attachments.ts';
import { readModelResponse } from '#agents/model-response.ts';
import { bedrock } from '#agents/models/bedrock.ts';
import type { ModelProvider } from '#agents/models/model-provider.ts';
import { openai } from '#agents/models/openai.ts';
import { retryingModel } from '#agents/retrying-model.ts';
import { trimTitle } from '#agents/title.ts';
import { kindOf, requestForm, type ToolUse } from '#agents/tools/agent-tool.ts';
import { lookup } from '#agents/tools/chat-texts.ts';
import { fetchWebContent } from '#agents/tools/fetch-web-content.ts';
import { openToolCalls } from '#agents/tools/tool-calls.ts';
import { describeIssues } from '#contract/describe-issues.ts';
import { chatCompletionRequest } from '#contract/openai.ts';
import type { Route } from '#contract/routes/route.ts';
import { routes } from '#contract/routes.ts';
import { readConversation } from '#domain/completions/read-conversation.ts';
import { splitText } from '#domain/knowledge/documents.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { type Request, readRequest } from '#runtime/http/request.ts';
import { withSourcePositions } from '#runtime/observability/log.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { freeRetries } from '#support/free-retries.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { sampleTextWorker } from '#support/sample-text-worker.ts';

/** Milliseconds of processor time of this thread. Unlike the time of a clock, it does not depend on what else runs. */
const processorTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/**
 * The longest processor time of the thread between two turns of the event loop while it works, in milliseconds. The
 * compiler and the garbage collector take time too, so compare the shortest of several runs.
 */
async function longestTurn(work: () => unknown): Promise<number> {
  const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 0));
  let longest = 0;
  let isDone = false;
  const watch = async () => {
    for (let before = processorTime(); !isDone; ) {
      await nextTurn();
      const now = processorTime();
      longest = Math.max(longest, now - before);
      before = now;
    }
  };
  await nextTurn();
  const watching = watch();
  try {
    await work();
    await nextTurn();
  } finally {
    isDone = true;
    await watching;
  }
  return longest;
}

const megabyte = 1024 * 1024;

/** 2 MB of small objects, as many bodies are. */
const ordinary = JSON.stringify(
  Array.from({ length: 42_000 }, (_each, id) => ({ id, name: `name ${id}`, price: id / 8, isOpen: true })),
);

const uuid = 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6';
const differentFields = (count: number) =>
  Array.from({ length: count }, (_each, index) => `"k${index}":0`).join();
/** Written once: to write them takes longer than to read them. */
const mostFields = `{${differentFields(59_000)}}`;
const requestOf = (route: Route, body: string) => {
  const caller = { workspaceId: 'workspace', apiKeyId: 'key', limits: null, expiresAt: null };
  const request: Request = {
    ...{ id: 'request', gatewayId: 'request', path: route.path, gatewayHost: 'host', caller },
    headers: new Map([['content-type', ['application/json']]]),
    query: new Map(),
    parameters: { chat_id: '1' },
    body: async () => body,
  };
  return readRequest(route, request, caller, async () => undefined);
};
const sendRequest = (message: string) =>
  requestOf(routes['send-message'], `{"agent_id":"${uuid}","message":"${message}"}`);
const completionRequest = (body: string) => requestOf(routes['complete-chat'], body);
const rejected = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable(),
    () => undefined,
  );

const conversation = (...messages: unknown[]) => readConversation(messages as never, imageInspector);
const userMessage = (...content: object[]) => conversation({ role: 'user', content });
const imageOf = (type: string, bytes: Buffer) => ({
  type: 'image_url',
  image_url: { url: `data:image/${type};base64,${bytes.toString('base64')}` },
});
const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

async function response(type: 'text' | 'reasoning', count: number): Promise<void> {
  const delta = { type: `${type}-delta`, id: '0', delta: 'word ' };
  const tokens = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const parts = [
    { type: `${type}-start`, id: '0' },
    ...Array.from({ length: count }, () => delta),
    { type: 'finish', finishReason: { unified: 'stop' }, usage: tokens },
  ];
  const bounds = { text: 2 * megabyte, other: 2 * megabyte };
  const listener = { text: () => undefined, progress: () => undefined, toolCall: () => ({}) };
  await readModelResponse(ReadableStream.from(parts) as never, bounds, listener);
}

const toolCall = async (input: string) => {
  const offered = kindOf(requestForm).offers({}, { name: 'form' });
  const calls = openToolCalls(
    offered as never,
    () => undefined,
    () => expect.unreachable(),
  );
  calls.start({ type: 'tool-call', toolCallId: '1', toolName: 'form', input });
  expect(JSON.stringify(await calls.results()).length).toBeLessThan(1000);
};

const use = (config: object) =>
  ({
    config,
    agents: [{ workspaceId: 'workspace' }],
    attachments: [],
    chat: null,
    signal: new AbortController().signal,
  }) as unknown as ToolUse<never>;

const textWorker = sampleTextWorker();
/** A word of six letters for each number. */
const wordOf = (number: number) => (number * 12_345 + 26 ** 5).toString(26).replaceAll(/\d/g, 'z');
/** The queries have the most characters, each of another word. */
const longQuery = Array.from({ length: 165 }, (_each, index) => `word${index % 10}`).join(' ');
const wordsOfQuery = Array.from({ length: 140 }, (_each, index) => wordOf(index * 200)).join(' ');
const longText = (characters: number) => 'x'.repeat(characters);

const searches = (count: number) => {
  const texts = Array.from({ length: 2000 }, () => ({ text: longText(2000), source: {} }));
  const tool = lookup(async () => ({ texts, notes: [] }), {
    rank: (workspaceId, search, signal) => textWorker.run(workspaceId, { type: 'rank', ...search }, signal),
  });
  return Promise.all(
    Array.from({ length: count }, () => tool.run({ query: longQuery }, use({ max_results: 20 }))),
  );
};

const fetched = (html: string) =>
  fetchWebContent(() => ({
    read: async (workspaceId, address) => ({
      url: address,
      ...(await textWorker.run(workspaceId, {
        ...{ type: 'read page', header: 'text/html', body: Buffer.from(html), address },
      })),
    }),
  })).run({ url: `https://site.test/${'a/'.repeat(900)}` }, use({ max_characters: 100_000 }));

/** Different words, a fortieth of what a workspace may have: the largest index takes seconds to make. */
async function largeKnowledge() {
  const passages = splitText(Array.from({ length: 30_000 }, (_each, index) => wordOf(index)).join(' '));
  const document = { id: 'document', name: 'document' };
  const index = KnowledgeIndex.empty().changed({ put: [{ document, passages }], remove: [] } as never);
  const { object, bytes } = await index.serialize();
  const table = {
    head: async () => ({ revision: 1, objectName: 'object', indexBytes: bytes }),
  } as unknown as KnowledgeTable;
  const objects = { get: async () => object } as unknown as IndexObjects;
  return knowledgeStore(table, objects, textWorker);
}

const attached = (text: string) =>
  showAttachments(
    { read: async () => ({ type: 'text', text, pageOffsets: [] }) },
    [{ uuid, name: 'a.txt', contentType: 'text/plain' } as never],
    { seesImages: true, signal: new AbortController().signal },
  );

let receivedBytes = 0;
const modelServer = closeAfterTests(
  await listenLocally(
    createServer(async (request, response) => {
      for await (const chunk of request) receivedBytes += chunk.length;
      response.writeHead(400).end();
    }),
  ),
);
process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME = modelServer.url;

const image = Buffer.alloc(3.75 * megabyte, 'image');

/** Calls a model with the most images and the most bytes of each. */
async function modelCallWithImages(provider: ModelProvider): Promise<void> {
  const { parts } = await showAttachments(
    { read: async () => ({ type: 'image', mediaType: 'image/png', bytes: image }) },
    Array.from({ length: 10 }, (_each, index) => ({ uuid: `${index}`, contentType: 'image/png' }) as never),
    { seesImages: true, signal: new AbortController().signal },
  );
  receivedBytes = 0;
  const prompt = [{ role: 'user' as const, content: [...parts.values()].flat() }];
  await rejected(retryingModel(provider.model('model'), freeRetries(clock)).stream({ prompt }));
  expect(receivedBytes).toBeGreaterThan(50 * megabyte);
}

const knowledge = await largeKnowledge();

/** What clients, models, pages and files can make long in a process that many workspaces share. */
const hostile: [what: string, work: () => unknown][] = [
  ['a message of the most characters, all escaped', () => sendRequest(String.raw`\u0061`.repeat(256 * 1024))],
  ['a message that is too long', () => rejected(sendRequest(longText(2 * megabyte - 100)))],
  ['a body of the most bytes', () => completionRequest(`{"a":"${longText(6 * megabyte - 8)}"}`)],
  ['a body of the most fields', () => completionRequest(mostFields)],
  ['a body that is no JSON', () => rejected(completionRequest(longText(6 * megabyte)))],
  [
    'a batch of the most wrong elements',
    () => rejected(requestOf(routes['create-batch'], `{"requests":[${'{},'.repeat(29_000)}{}]}`)),
  ],
  [
    'a completion of the most wrong parts',
    () => {
      const content = Array.from({ length: 9999 }, () => ({ type: 0, text: 0, image_url: { url: 0 } }));
      const body = { model: 'a', messages: [{ role: 'user', content }] };
      const { error } = chatCompletionRequest.safeParse(body, { reportInput: true });
      describeIssues(error?.issues ?? []);
    },
  ],
  [
    'a conversation of the most messages',
    () =>
      conversation(
        ...Array.from({ length: 10_000 }, (_each, index) => ({
          role: index % 2 === 0 ? 'assistant' : 'user',
          content: longText(500),
        })),
      ),
  ],
  [
    'a conversation of the most images',
    () => rejected(userMessage(...Array.from({ length: 9000 }, () => imageOf('gif', gif)))),
  ],
  [
    'an image of many boxes',
    () => {
      const box = Buffer.from('0000000861616161', 'hex');
      const start = Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1');
      const bytes = Buffer.concat([start, Buffer.alloc(4 * megabyte, box)]);
      return rejected(userMessage(imageOf('png', bytes)));
    },
  ],
  [
    'an image of many segments',
    () => {
      const segments = Buffer.alloc(4 * megabyte, 'ffe00002', 'hex');
      return rejected(userMessage(imageOf('jpeg', Buffer.concat([Buffer.from('ffd8', 'hex'), segments]))));
    },
  ],
  ['a title of empty lines', () => trimTitle('\n'.repeat(2 * megabyte))],
  ['a title of words', () => trimTitle('a '.repeat(megabyte))],
  ['a reply of many deltas that come at once', () => response('text', 100_000)],
  ['reasoning of many deltas that come at once', () => response('reasoning', 100_000)],
  ['arguments of a tool with many fields', () => toolCall(`{${differentFields(100_000)}}`)],
  [
    'arguments of a tool with many objects',
    () => toolCall(`{"title":"a","fields":[${'{},'.repeat(350_000)}{}]}`),
  ],
  ['arguments of a tool with many levels', () => toolCall('['.repeat(megabyte))],
  ['28 look-ups of long queries in the longest chat', () => searches(28)],
  [
    '28 long queries of a knowledge with many words',
    () => Promise.all(Array.from({ length: 28 }, () => knowledge.search('workspace', wordsOfQuery, 20))),
  ],
  ['a web page of links', () => fetched('<a href=b>c</a>'.repeat(300_000))],
  ['an attached text of brackets', () => attached('<'.repeat(60_000))],
  [
    'the most and largest images to a model of OpenAI',
    () =>
      modelCallWithImages(
        openai({ baseUrl: () => modelServer.url, apiKey: async () => 'key', onSkipped: () => undefined }),
      ),
  ],
  [
    'the most and largest images to a model of Bedrock',
    () =>
      modelCallWithImages(
        bedrock({
          credentials: async () => ({ accessKeyId: 'id', secretAccessKey: 'secret' }),
          region: () => 'eu-west-1',
        }),
      ),
  ],
  ['an error with a long message', () => withSourcePositions(`Error: ${'file:///a:1'.repeat(200_000)}`)],
];

it.each(hostile)(
  'no turn of the event loop takes longer than 10 MB of JSON, with %s',
  async (_what, work) => {
    let [parsing, working] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    // The two alternate, so that both have the same processor. A run that is short enough is the last one.
    for (let run = 0; run < 12 && !(working < 5 * parsing); run += 1) {
      parsing = Math.min(parsing, await longestTurn(() => JSON.parse(ordinary)));
      working = Math.min(working, await longestTurn(work));
    }
    expect(working / parsing).toBeLessThan(5);
  },
);
