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

/** Each type of data source has its own field for the location. */
function sourceOf({ location, metadata }: KnowledgeBaseRetrievalResult): Record<string, string | number> {
  const source =
    location?.s3Location?.uri ??
    location?.webLocation?.url ??
    location?.confluenceLocation?.url ??
    location?.sharePointLocation?.url ??
    location?.salesforceLocation?.url ??
    location?.kendraDocumentLocation?.uri ??
    location?.customDocumentLocation?.id;
  const page = metadata?.['x-amz-bedrock-kb-document-page-number'];
  return {
    type: location?.type?.toLowerCase() ?? 'unknown',
    ...(source !== undefined && { uri: source }),
    ...(typeof page === 'number' && { page }),
  };
}
