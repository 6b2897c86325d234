import type { Limits } from '#contract/rate-limits.ts';
import type { AgentStore } from './agents/agent-store.ts';
import type { WebPages } from './agents/web-pages.ts';
import type { WebSearch } from './agents/web-search.ts';
import type { BatchQueue } from './batches/batch-queue.ts';
import type { BatchStore } from './batches/batch-store.ts';
import type { BatchWorkflow } from './batches/batch-workflow.ts';
import type { ReconciliationIndex } from './batches/reconciliation-index.ts';
import type { AgentRuntime } from './chats/agent-runtime.ts';
import type { ChatStore } from './chats/chat-store.ts';
import type { FeedbackStore } from './chats/feedback-store.ts';
import type { MessageStore } from './chats/message-store.ts';
import type { ReplyLimits } from './chats/reply-budget.ts';
import type { AttachmentReader } from './files/attachment-reader.ts';
import type { ContentDetector } from './files/content-detector.ts';
import type { FileIndex } from './files/file-index.ts';
import type { FileStore } from './files/file-store.ts';
import type { ImageFitter } from './files/image-fitter.ts';
import type { PreparedAttachments } from './files/prepared-attachments.ts';
import type { TextExtractor } from './files/text-extractor.ts';
import type { KnowledgeBase } from './knowledge/knowledge-base.ts';
import type { KnowledgeStore } from './knowledge/knowledge-store.ts';
import type { Clock } from './platform/clock.ts';
import type { Identifiers } from './platform/identifiers.ts';
import type { Log } from './platform/log.ts';
import type { Meter } from './platform/meter.ts';
import type { RequestKeyStore } from './platform/request-key-store.ts';
import type { DeliveryStore } from './webhooks/delivery-store.ts';
import type { SecretSealer } from './webhooks/secret-sealer.ts';
import type { WebhookSender } from './webhooks/webhook-sender.ts';
import type { ApiKeyStore } from './workspaces/api-key-store.ts';
import type { AuditLog } from './workspaces/audit-log.ts';
import type { RateBucketStore } from './workspaces/rate-bucket-store.ts';
import type { UsageStore } from './workspaces/usage-store.ts';
import type { WorkspaceStore } from './workspaces/workspace-store.ts';

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
