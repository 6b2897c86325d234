import type { Scored } from './knowledge.ts';

export interface KnowledgeBasePassage {
  text: string;
  /** Where it comes from, as the knowledge base tells it: an address, a type, a page. */
  source: Record<string, string | number>;
}

export type KnowledgeBaseFailureReason = 'notAllowed' | 'notFound' | 'busy' | 'refused';

/** Why a knowledge base gave nothing. */
export class KnowledgeBaseFailure extends Error {
  override readonly name = 'KnowledgeBaseFailure';
  readonly kind: KnowledgeBaseFailureReason;

  constructor(kind: KnowledgeBaseFailureReason, options?: ErrorOptions) {
    super(`The knowledge base gave nothing: ${kind}`, options);
    this.kind = kind;
  }
}

/** Knowledge that is kept elsewhere. */
export interface KnowledgeBase {
  /** @throws KnowledgeBaseFailure */
  retrieve(
    request: { knowledgeBaseId: string; query: string; most: number },
    signal: AbortSignal,
  ): Promise<Scored<KnowledgeBasePassage>[]>;
}
