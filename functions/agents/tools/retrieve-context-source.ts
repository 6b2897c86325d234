import * as z from 'zod';
import {
  type KnowledgeBase,
  KnowledgeBaseFailure,
  type KnowledgeBaseFailureReason,
  type KnowledgeStore,
} from '#domain/knowledge/knowledge.ts';
import { type AgentTool, query, scoreOf, ToolFailure, type ToolOutcome, type ToolUse } from './agent-tool.ts';

const config = z.strictObject({
  max_passages: z.int().min(1).max(20).default(5),
  knowledge_base_id: z
    .string()
    .regex(/^[0-9A-Z]{10}$/, 'must be the id of a Bedrock knowledge base: ten capital letters and digits')
    .optional(),
});
const input = z.object({ query });

type Config = z.output<typeof config>;

export const retrieveContextSource = (sources: {
  knowledge: () => Pick<KnowledgeStore, 'search'>;
  knowledgeBase: () => KnowledgeBase;
}): AgentTool<Config, z.output<typeof input>> => ({
  type: 'consultant_retrieve_context_source',
  description:
    'Search the knowledge base: the documents that this assistant was given. Results name their source.',
  config,
  input: () => input,
  start: ({ query }) => ({ content: 'Searching the knowledge base', args: { query } }),
  run: ({ query }, use) =>
    use.config.knowledge_base_id === undefined
      ? searchDocuments(sources.knowledge(), query, use)
      : queryKnowledgeBase(sources.knowledgeBase(), query, use.config.knowledge_base_id, use),
});

async function searchDocuments(
  knowledge: Pick<KnowledgeStore, 'search'>,
  query: string,
  { agents: [{ workspaceId }], config }: ToolUse<Config>,
): Promise<ToolOutcome> {
  const passages = await knowledge.search(workspaceId, query, config.max_passages);
  const results = passages?.map(({ found: { text, document, offset, page }, score }) => ({
    text,
    source: { document_id: document.id, name: document.name, ...(page !== undefined && { page }), offset },
    score: scoreOf(score),
  }));
  return outcome(results ?? [], results === undefined ? 'The knowledge base is empty' : undefined);
}

async function queryKnowledgeBase(
  knowledgeBase: KnowledgeBase,
  query: string,
  knowledgeBaseId: string,
  { config, signal }: ToolUse<Config>,
): Promise<ToolOutcome> {
  try {
    const passages = await knowledgeBase.retrieve(
      { knowledgeBaseId, query, limit: config.max_passages },
      signal,
    );
    return outcome(passages.map(({ found, score }) => ({ ...found, score: scoreOf(score) })));
  } catch (error) {
    if (!(error instanceof KnowledgeBaseFailure)) throw error;
    throw new ToolFailure(failureTexts[error.kind], { cause: error });
  }
}

const failureTexts: Readonly<Record<KnowledgeBaseFailureReason, string>> = {
  notAllowed: 'This service may not query the knowledge base',
  notFound: 'The knowledge base does not exist',
  busy: 'The knowledge base is busy; it may answer later',
  refused: 'The knowledge base could not answer',
};

const outcome = (
  results: unknown[],
  note = 'Nothing in the knowledge base matches the query',
): ToolOutcome => ({ data: { results, ...(results.length === 0 && { note }) } });
