/**
 * What tools of agents search and reach out with. Most replies use none of it, so it is only ever imported while a tool
 * is at work: functions carry it as a file of its own, which does not count at their start.
 */
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { bedrockKnowledgeBase } from '#adapters/bedrock-knowledge-base.ts';
import { cachedSecret } from '#adapters/cached-secret.ts';
import type { Audit } from '#adapters/dynamo/audit-log.ts';
import { dynamoKnowledgeTable } from '#adapters/dynamo/knowledge-table.ts';
import type { Table } from '#adapters/dynamo/table.ts';
import type { IndexObjects } from '#adapters/knowledge/index-objects.ts';
import { knowledgeStore } from '#adapters/knowledge/knowledge-store.ts';
import { passageRanking } from '#adapters/knowledge/passage-index.ts';
import { httpWebPages } from '#adapters/outbound/web-pages.ts';
import { braveSearch, searxng } from '#adapters/outbound/web-search.ts';
import { chatPassages } from '#agents/tools/chat-passages.ts';
import type { KnowledgeStore } from '#domain/ports/knowledge-store.ts';
import type { PassageRanking } from '#domain/ports/passage-ranking.ts';
import type { WebPages } from '#domain/ports/web-pages.ts';
import type { WebSearch } from '#domain/ports/web-search.ts';
import { clientTimeouts } from './client-timeouts.ts';
import { environment } from './environment.ts';
import { ownServices } from './own-services.ts';

export const ranking: PassageRanking = passageRanking;
export const passagesOfChat = chatPassages;

export const makeKnowledge = (table: Table, audit: Audit, objects: IndexObjects): KnowledgeStore =>
  knowledgeStore(dynamoKnowledgeTable(table, audit), objects);

export const knowledgeBase = bedrockKnowledgeBase(async (input, signal) =>
  (await import('./bedrock-agent-client.ts')).retrieve(input, signal),
);

export const makeWebPages = (): WebPages =>
  httpWebPages({ rules: { allow: environment('outboundAllow'), refuse: ownServices() } });

const braveKey = cachedSecret(
  () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
  () => environment('webSearchApiKeySecret'),
);
export const webSearchWith = (provider: 'brave' | 'searxng'): WebSearch =>
  provider === 'brave'
    ? braveSearch(environment('webSearchUrl'), braveKey)
    : searxng(environment('webSearchUrl'));
