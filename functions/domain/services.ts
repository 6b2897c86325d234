import type { Limits } from '#contract/rate-limits.ts';
import type { AgentRuntime } from './ports/agent-runtime.ts';
import type { AgentStore } from './ports/agent-store.ts';
import type { ApiKeyStore } from './ports/api-key-store.ts';
import type { AttachmentReader } from './ports/attachment-reader.ts';
import type { AuditLog } from './ports/audit-log.ts';
import type { BatchQueue } from './ports/batch-queue.ts';
import type { BatchStore } from './ports/batch-store.ts';
import type { BatchWorkflow } from './ports/batch-workflow.ts';
import type { ChatStore } from './ports/chat-store.ts';
import type { Clock } from './ports/clock.ts';
import type { ContentDetector } from './ports/content-detector.ts';
import type { DeliveryStore } from './ports/delivery-store.ts';
import type { FeedbackStore } from './ports/feedback-store.ts';
import type { FileIndex } from './ports/file-index.ts';
import type { FileStore } from './ports/file-store.ts';
import type { Identifiers } from './ports/identifiers.ts';
import type { ImageFitter } from './ports/image-fitter.ts';
import type { KnowledgeBase } from './ports/knowledge-base.ts';
import type { KnowledgeStore } from './ports/knowledge-store.ts';
import type { Log } from './ports/log.ts';
import type { MessageStore } from './ports/message-store.ts';
import type { Meter } from './ports/meter.ts';
import type { PreparedAttachments } from './ports/prepared-attachments.ts';
import type { RateBucketStore } from './ports/rate-bucket-store.ts';
import type { ReconciliationIndex } from './ports/reconciliation-index.ts';
import type { RequestKeyStore } from './ports/request-key-store.ts';
import type { SecretSealer } from './ports/secret-sealer.ts';
import type { TextExtractor } from './ports/text-extractor.ts';
import type { UsageStore } from './ports/usage-store.ts';
import type { WebPages } from './ports/web-pages.ts';
import type { WebSearch } from './ports/web-search.ts';
import type { WebhookSender } from './ports/webhook-sender.ts';
import type { WorkspaceStore } from './ports/workspace-store.ts';
import type { ReplyLimits } from './reply-budget.ts';

/** Everything a use case can touch. Each declares its part: `(services: Pick<Services, 'chats' | 'clock'>) => …`. */
export interface Services {
  agentRuntime: AgentRuntime;
  agents: AgentStore;
  apiKeys: ApiKeyStore;
  attachments: AttachmentReader;
  auditLog: AuditLog;
  batchQueue: BatchQueue;
  batchSettings: BatchSettings;
  batchWorkflow: BatchWorkflow;
  batches: BatchStore;
  chats: ChatStore;
  clock: Clock;
  contentDetector: ContentDetector;
  deliveries: DeliveryStore;
  feedback: FeedbackStore;
  fileIndex: FileIndex;
  files: FileStore;
  identifiers: Identifiers;
  imageFitter: ImageFitter;
  knowledge: KnowledgeStore;
  knowledgeBase: KnowledgeBase;
  log: Log;
  messages: MessageStore;
  meter: Meter;
  preparedAttachments: PreparedAttachments;
  queueSettings: QueueSettings;
  rateBuckets: RateBucketStore;
  reconciliationIndex: ReconciliationIndex;
  replySettings: ReplySettings;
  requestKeys: RequestKeyStore;
  secretSealer: SecretSealer;
  /** What workspaces are held to that have no limits of their own. */
  stageLimits: Limits;
  textExtractor: TextExtractor;
  usage: UsageStore;
  webPages: WebPages;
  /** Null where the stage has no provider. */
  webSearch: WebSearch | null;
  webhookSender: WebhookSender;
  webhookSettings: WebhookSettings;
  workspaces: WorkspaceStore;
}

/** Times in milliseconds. */
export interface ReplySettings {
  /** The longest that a stream may go without an event (specification, section 8). */
  streamTimeout: number;
  /** How long a reply's lock outlives a crashed function; renewed at a third of it. */
  lease: number;
  /** Characters of earlier messages that a model is given. */
  historyCharacters: number;
  /** Files that a message may attach. */
  attachedFiles: number;
  /** Of one reply, with the agents that it calls. */
  limits: ReplyLimits;
}

/** Times in milliseconds. */
export interface BatchSettings {
  /** From its creation on; what has not been begun by then fails. */
  timeout: number;
  /** How long one request may take its model. */
  item: number;
}

export interface QueueSettings {
  /** Messages of one workspace that are in the queue or being done: its share of the workers. */
  workspacePlaces: number;
}

/** Times in milliseconds. */
export interface WebhookSettings {
  /** How long a receiver may take to answer. */
  timeout: number;
  /** From the end of each attempt that failed to the next one. */
  retryDelays: readonly number[];
}
