import { dynamoKnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import type { Audit } from '#adapters/dynamo/workspaces/api-key-store.ts';
import type { IndexObjects } from '#adapters/knowledge/knowledge-index.ts';
import { bedrockKnowledgeBase, knowledgeStore } from '#adapters/knowledge/knowledge-store.ts';
import { outboundRules } from '#adapters/outbound/addresses.ts';
import { braveSearch, httpWebPages, searxng } from '#adapters/outbound/web-pages.ts';
import { cachedSecret } from '#adapters/secrets.ts';
import { textWorker } from '#adapters/text-thread/text-worker.ts';
import { chatTexts } from '#agents/tools/chat-texts.ts';
import type { WebPages, WebSearch } from '#domain/agents/agents.ts';
import type { KnowledgeStore, PassageRanking } from '#domain/knowledge/knowledge.ts';
import { environment, internalEndpoints } from '#runtime/environment/environment.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { secretsClient } from '#runtime/environment/secrets-client.ts';

/** Import this module only dynamically, so that it does not slow down the start of functions. */

/** In a function's bundle, the code of the thread is a file next to the code of the function. */
const worker = textWorker(new URL('text-thread.mjs', import.meta.url));

export const ranking: PassageRanking = {
  rank: (workspaceId, search, signal) => worker.run(workspaceId, { type: 'rank', ...search }, signal),
};
export const textsOfChat = chatTexts;

export const makeKnowledge = (table: Table, audit: Audit, objects: IndexObjects): KnowledgeStore =>
  knowledgeStore(dynamoKnowledgeTable(table, audit), objects, worker);

export const knowledgeBase = bedrockKnowledgeBase(async (input, signal) =>
  (await import('./bedrock-agent-client.ts')).retrieve(input, signal),
);

export const makeWebPages = (): WebPages =>
  httpWebPages(outboundRules(environment('outboundAllow'), internalEndpoints(), clock), worker);

const braveKey = cachedSecret(secretsClient, () => environment('webSearchApiKeySecret'));
export const webSearchWith = (provider: 'brave' | 'searxng'): WebSearch =>
  provider === 'brave'
    ? braveSearch(environment('webSearchUrl'), braveKey)
    : searxng(environment('webSearchUrl'));
