import type {
  KnowledgeBaseRetrievalResult,
  RetrieveCommandInput,
  RetrieveCommandOutput,
} from '@aws-sdk/client-bedrock-agent-runtime';
import {
  type KnowledgeBase,
  KnowledgeBaseFailure,
  type KnowledgeBaseFailureReason,
} from '#domain/knowledge/knowledge.ts';

export const bedrockKnowledgeBase = (
  send: (input: RetrieveCommandInput, signal: AbortSignal) => Promise<RetrieveCommandOutput>,
): KnowledgeBase => ({
  async retrieve({ knowledgeBaseId, query, limit }, signal) {
    const input = {
      knowledgeBaseId,
      retrievalQuery: { text: query },
      retrievalConfiguration: { vectorSearchConfiguration: { numberOfResults: limit } },
    };
    try {
      const { retrievalResults = [] } = await send(input, signal);
      return retrievalResults.map((result) => ({
        found: { text: result.content?.text ?? '', source: sourceOf(result) },
        score: result.score ?? 0,
      }));
    } catch (error) {
      signal.throwIfAborted();
      throw new KnowledgeBaseFailure(rejections[(error as Error).name] ?? 'refused', { cause: error });
    }
  },
});

const rejections: Partial<Record<string, KnowledgeBaseFailureReason>> = {
  AccessDeniedException: 'notAllowed',
  ResourceNotFoundException: 'notFound',
  ThrottlingException: 'busy',
};

/**
 * Each type of data source has a field of its own in `location`. Its address is there as `uri`, `url` or `id`; SQL has
 * none.
 */
function sourceOf({ location, metadata }: KnowledgeBaseRetrievalResult): Record<string, string | number> {
  const fields = Object.values(location ?? {}).filter((field) => typeof field === 'object');
  const { uri, url, id }: Partial<Record<string, string>> = Object.assign({}, ...fields);
  const source = uri ?? url ?? id;
  const page = metadata?.['x-amz-bedrock-kb-document-page-number'];
  return {
    type: location?.type?.toLowerCase() ?? 'unknown',
    ...(source !== undefined && { uri: source }),
    ...(typeof page === 'number' && { page }),
  };
}
