import type { Scored } from './knowledge.ts';

export interface KnowledgeBasePassage {
  text: string;
  /** Where the passage comes from, as the knowledge base reports it: a type, a URI, a page. */
  source: Record<string, string | number>;
}

export type KnowledgeBaseFailureReason = 'notAllowed' | 'notFound' | 'busy' | 'refused';

export class KnowledgeBaseFailure extends Error {
  override readonly name = 'KnowledgeBaseFailure';
  readonly kind: KnowledgeBaseFailureReason;

  constructor(kind: KnowledgeBaseFailureReason, options?: ErrorOptions) {
    super(`The knowledge base gave nothing: ${kind}`, options);
    this.kind = kind;
  }
}

/** Knowledge outside this service, in Amazon Bedrock. */
export interface KnowledgeBase {
  /** @throws KnowledgeBaseFailure */
  retrieve(
    request: { knowledgeBaseId: string; query: string; limit: number },
    signal: AbortSignal,
  ): Promise<Scored<KnowledgeBasePassage>[]>;
}
