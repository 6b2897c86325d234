import { writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ChatBatchClient, sourcesOf } from '#lib/client/index.ts';
import { eventExamples } from '#lib/openapi/examples.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { createPublishedAgent } from '#support/service.ts';
import { startWebServer } from '#support/tool-use.ts';
import { useScriptedService } from '#support/use-service.ts';

const json = (response: ServerResponse, body: unknown) =>
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));

/** Pages, and a search in SearXNG's format that finds two. */
const web = closeAfterTests(
  await startWebServer((request, response) => {
    const path = request.url ?? '';
    if (path.startsWith('/searx/')) {
      const pages = ['/found', '/titled'].map((found) => ({ title: `Page ${found}`, url: web.url + found }));
      return json(response, { results: pages });
    }
    const title = path === '/titled' ? '<title>Titled</title>' : '';
    response
      .writeHead(path === '/missing' ? 404 : 200, { 'Content-Type': 'text/html' })
      .end(`${title}<p>${'Text '.repeat(20)}</p>`);
  }),
);
// No tool may read a page of this server, because it is one of AWS.
const bedrock = closeAfterTests(
  await startWebServer((_request, response) => {
    const passage = (page: number) => ({
      content: { text: 'Refunds' },
      location: { type: 'S3', s3Location: { uri: 's3://handbook/refunds.pdf' } },
      metadata: { 'x-amz-bedrock-kb-document-page-number': page },
    });
    const elsewhere = { content: { text: 'From elsewhere' } };
    json(response, { retrievalResults: [passage(3), passage(3), passage(4), elsewhere] });
  }),
);
const { service, tenant, model } = await useScriptedService(
  {
    variables: {
      WEB_SEARCH_PROVIDER: 'searxng',
      WEB_SEARCH_URL: `${web.url}/searx/`,
      OUTBOUND_ALLOW: `127.0.0.1:${web.port}`,
      AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME: bedrock.url,
    },
  },
  { openai: true },
);
const { apiKey, workspaceId } = tenant;
const client = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey, externalUserId: 'ada' });

const using = (name: string, args: Record<string, unknown>) => ({ name, arguments: args });
type Rounds = ReturnType<typeof using>[][];

/** A message has the calls of tools that the model makes, in parallel and one round after the other. */
model.onCall = (call) => {
  const { messages } = call.request;
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const rounds = JSON.parse(messages[last]?.content ?? '') as Rounds;
  const next = rounds[messages.slice(last).filter(({ role }) => role === 'assistant').length];
  if (next === undefined) call.chunk('Done');
  else call.callTools(...next);
  call.finish();
};

test('the sources of a reply are those of its steps, each once', async () => {
  const file = join(await temporaryFolder('sources-'), 'terms.txt');
  await writeFile(file, `Refunds take two weeks. ${'Other words. '.repeat(400)} Refunds need a receipt.`);
  const { documents } = await agentctlOf(service).json<{ documents: { id: string }[] }>(
    ...['knowledge', 'add', '--workspace', workspaceId, file],
  );
  const common = { llm_model: 'openai:test' };
  const read = { type: 'consultant_fetch_web_content', name: 'read' };
  const expert = await createPublishedAgent(workspaceId, {
    ...common,
    name: 'Expert',
    unified_tools: [read],
  });
  const agent_id = await createPublishedAgent(workspaceId, {
    ...common,
    unified_tools: [
      { type: 'consultant_search_web', name: 'search' },
      { ...read, config: { max_characters: 50 } },
      { type: 'consultant_retrieve_context_source', name: 'documents' },
      {
        ...{ type: 'consultant_retrieve_context_source', name: 'handbook' },
        config: { knowledge_base_id: 'ABCDE12345' },
      },
      { type: 'consultant_call_agent', name: 'expert', config: { agent_id: expert } },
      { type: 'consultant_lookup', name: 'lookup' },
    ],
  });
  const rounds: Rounds = [
    [using('documents', { query: 'refunds' })],
    [using('read', { url: `${web.url}/titled` }), using('read', { url: `${web.url}/missing` })],
    [using('read', { url: `${web.url}/titled`, offset: 50 }), using('unknown', {})],
    [using('search', { query: 'refunds' }), using('lookup', { query: 'refunds' })],
    [using('handbook', { query: 'refunds' })],
    [using('expert', { message: JSON.stringify([[using('read', { url: `${web.url}/bare` })]]) })],
  ];
  const chat = await client.chats.create({ name: 'A chat', agent_id });
  const message = JSON.stringify(rounds);
  const streamed = [];
  for await (const event of client.messages.stream(chat.id, { message }))
    if (event.type === 'response.reasoning_step.end') streamed.push(event.step);
  const [reply] = (await client.messages.list(chat.id, { order_by: 'desc', limit: 1 })).data;
  const steps = reply?.meta.reasoning_steps ?? [];
  expect(steps.map(({ result }) => result?.success)).toContain(false);

  const page = { type: 'consultant_fetch_web_content' };
  const passage = { type: 'consultant_retrieve_context_source' };
  const expected = [
    { ...passage, title: 'terms.txt', documentId: documents[0]?.id },
    { ...page, title: 'Titled', url: `${web.url}/titled` },
    { type: 'consultant_search_web', title: 'Page /found', url: `${web.url}/found` },
    { ...passage, url: 's3://handbook/refunds.pdf', page: 3 },
    { ...passage, url: 's3://handbook/refunds.pdf', page: 4 },
    { ...page, url: `${web.url}/bare` },
  ];
  expect(sourcesOf(steps)).toEqual(expected);
  expect(sourcesOf(streamed)).toEqual(expected);

  const response = await fetch(`${service.baseUrl}/openai/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: agent_id, messages: [{ role: 'user', content: message }] }),
  });
  const { agent_steps } = (await response.json()) as { agent_steps: typeof steps };
  expect(sourcesOf(agent_steps)).toEqual(expected);
});

test('the step of the document of OpenAPI has its source', () => {
  const { step } = eventExamples['response.reasoning_step.end'];
  expect(sourcesOf([step])).toEqual([{ type: step.type, title: 'terms.md', documentId: expect.any(String) }]);
});

test('a reply without steps has no sources', () => {
  expect(sourcesOf([])).toEqual([]);
  expect(sourcesOf([{ type: 'consultant_search_web', result: null }])).toEqual([]);
});
