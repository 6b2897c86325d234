/**
 * The adapters of agents' tools. Import this module only dynamically, during a tool use: most replies use no tool. In
 * the functions' bundles it is a separate chunk, which does not slow down their start.
 */
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { bedrockKnowledgeBase } from '#adapters/bedrock-knowledge-base.ts';
import { cachedSecret } from '#adapters/cached-secret.ts';
import { dynamoKnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import type { Audit } from '#adapters/dynamo/workspaces/audit-log.ts';
import type { IndexObjects } from '#adapters/knowledge/index-objects.ts';
import { knowledgeStore } from '#adapters/knowledge/knowledge-store.ts';
import { httpWebPages } from '#adapters/outbound/web-pages.ts';
import { braveSearch, searxng } from '#adapters/outbound/web-search.ts';
import { textWorker } from '#adapters/text-thread/text-worker.ts';
import { chatTexts } from '#agents/tools/chat-texts.ts';
import type { WebPages } from '#domain/agents/web-pages.ts';
import type { WebSearch } from '#domain/agents/web-search.ts';
import type { KnowledgeStore } from '#domain/knowledge/knowledge-store.ts';
import type { PassageRanking } from '#domain/knowledge/passage-ranking.ts';
import { clientTimeouts } from '#runtime/environment/client-timeouts.ts';
import { environment } from '#runtime/environment/environment.ts';
import { outboundRules } from './outbound-rules.ts';

/** The thread's code is a file next to the function's. */
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
  httpWebPages({ rules: outboundRules(environment('outboundAllow')), textWorker: worker });

const braveKey = cachedSecret(
  () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
  () => environment('webSearchApiKeySecret'),
);
export const webSearchWith = (provider: 'brave' | 'searxng'): WebSearch =>
  provider === 'brave'
    ? braveSearch(environment('webSearchUrl'), braveKey)
    : searxng(environment('webSearchUrl'));
