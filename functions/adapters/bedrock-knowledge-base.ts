import {
  type BedrockAgentRuntimeClient,
  type KnowledgeBaseRetrievalResult,
  RetrieveCommand,
} from '@aws-sdk/client-bedrock-agent-runtime';
import {
  type KnowledgeBase,
  KnowledgeBaseFailure,
  type KnowledgeBaseRefusal,
} from '#domain/ports/knowledge-base.ts';

export const bedrockKnowledgeBase = (client: BedrockAgentRuntimeClient): KnowledgeBase => ({
  async retrieve({ knowledgeBaseId, query, most }, signal) {
    const command = new RetrieveCommand({
      knowledgeBaseId,
      retrievalQuery: { text: query },
      retrievalConfiguration: { vectorSearchConfiguration: { numberOfResults: most } },
    });
    try {
      const { retrievalResults = [] } = await client.send(command, { abortSignal: signal });
      return retrievalResults.map((result) => ({
        found: { text: result.content?.text ?? '', source: sourceOf(result) },
        score: result.score ?? 0,
      }));
    } catch (error) {
      signal.throwIfAborted();
      throw new KnowledgeBaseFailure(refusals[(error as Error).name] ?? 'refused', { cause: error });
    }
  },
});

const refusals: Partial<Record<string, KnowledgeBaseRefusal>> = {
  AccessDeniedException: 'notAllowed',
  ResourceNotFoundException: 'notFound',
  ThrottlingException: 'busy',
};

/** Every kind of data source names its places in fields of its own. */
function sourceOf({ location, metadata }: KnowledgeBaseRetrievalResult): Record<string, string | number> {
  const place =
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
    ...(place !== undefined && { uri: place }),
    ...(typeof page === 'number' && { page }),
  };
}
