import { agentDefinition } from '#contract/agent.ts';
import { parseLimits } from '#contract/rate-limits.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import type { Batch, BatchRequest } from '#domain/batches/batch.ts';
import { type AssistantMessage, noUsage, type UserMessage } from '#domain/chats/message.ts';
import type { StoredFile } from '#domain/files/files.ts';
import type { KnowledgeDocument } from '#domain/knowledge/knowledge.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';
import type { ApiKey } from '#domain/workspaces/api-key.ts';
import type { BucketOwner } from '#domain/workspaces/rate-limits.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { sampleBatch, sampleRequest } from '../sample-batches.ts';

/** In epoch milliseconds. All times of the frozen items are relative to this time. */
export const start = Date.parse('2026-11-22T12:00:00.000Z');

/** The ISO time so many minutes after `start`. */
export const at = (minutes: number): string => new Date(start + minutes * 60_000).toISOString();

/** The content of the frozen items. Each has every optional attribute. */
export const workspaceId = 'ws_frozen';
export const agentId = '01a20300-0000-7000-8000-000000000001';
export const userId = 'Zoë #2';

export const workspace: Workspace = {
  id: workspaceId,
  name: 'Frozen',
  enabled: true,
  whitelistEnabled: true,
  titlesEnabled: true,
  openAiEnabled: false,
  retentionDays: null,
  limits: 'default',
  ownLimits: { sends: { count: 7, seconds: 60, burst: 9 }, uploads: null, openBatches: 3 },
  createdAt: at(0),
};

export const apiKey = (number: number, fields: Partial<ApiKey> = {}): ApiKey => ({
  id: `key_frozen${number}`,
  workspaceId,
  hash: String(number).repeat(64),
  prefix: 'ak_froze',
  lastFour: 'n123',
  name: number === 1 ? null : `Key ${number}`,
  createdAt: at(number),
  expiresAt: null,
  revokedAt: null,
  lastUsedOn: null,
  ...fields,
});

export const agent: Agent = {
  id: agentId,
  workspaceId,
  publishState: 'published',
  definition: agentDefinition.parse({
    name: 'Frozen agent',
    description: 'With all that there is',
    system_prompt: 'You are kind.',
    llm_model: 'openai:test',
    unified_tools: [
      { type: 'consultant_lookup', name: 'look_up', description: 'Looks up', config: { most: 3 } },
    ],
    suggested_questions: ['What is this?'],
    use_search: true,
    meta: { temperature: 0.5, max_steps: 4, team: 'blue' },
  }),
  newestVersion: 1,
  publishedVersionId: '01a20300-0000-7000-8000-000000000011',
  publishedAt: at(2),
  createdAt: at(1),
  updatedAt: at(2),
  revision: 1,
};

export const agentVersion: AgentVersion = {
  id: '01a20300-0000-7000-8000-000000000011',
  agentId,
  workspaceId,
  number: 1,
  definition: agent.definition,
  publishedAt: at(2),
  agentCreatedAt: at(1),
};

export const file: StoredFile = {
  uuid: '01a20300-0000-7000-8000-000000000021',
  workspaceId,
  name: 'Notes – 1.txt',
  contentType: 'text/plain; charset=utf-8',
  size: 29,
  scope: 'ephemeral',
  createdAt: at(3),
  expiresAt: at(3 + 24 * 60),
};

export const question: UserMessage = {
  role: 'user',
  position: 1,
  content: 'What does the file say?',
  attachments: [file],
  createdAt: at(4),
};

export const reply: AssistantMessage = {
  role: 'assistant',
  position: 2,
  content: 'It says that',
  createdAt: at(5),
  agentVersionId: agentVersion.id,
  reasoningSteps: [
    {
      id: 'step_1',
      type: 'consultant_lookup',
      content: 'Looking it up',
      args: { query: 'file' },
      result: { success: true, data: { passages: [1, 2] } },
      started_at: at(4),
      ended_at: at(5),
      token_usage: {
        ...noUsage,
        total_prompt_tokens: 1,
        total_completion_tokens: 2,
        total_tokens: 3,
        total_calls: 1,
      },
    },
  ],
  tokenUsage: {
    ...noUsage,
    total_prompt_tokens: 10,
    total_completion_tokens: 20,
    total_tokens: 30,
    total_calls: 2,
  },
  error: { code: 10005, message: 'The reply was interrupted' },
  incomplete: null,
};

export const document: KnowledgeDocument = {
  id: '01a20300-0000-7000-8000-000000000031',
  name: 'handbook.pdf',
  contentType: 'application/pdf',
  bytes: 1000,
  characters: 900,
  textBytes: 910,
  passages: 2,
  addedAt: at(6),
};

export const bucketOwner: BucketOwner = {
  workspaceId,
  apiKeyId: 'key_frozen1',
  limits: parseLimits('reads=none,writes=none,sends=5/s:10,uploads=none,batches=none,open-batches=none'),
};

export const idempotencyKey = (hash: string) => ({
  workspaceId,
  hash,
  fingerprint: `print of ${hash}`,
  at: start,
});

export const webhook: Webhook = {
  url: 'https://receiver.example/hook',
  events: ['completed', 'failed', 'cancelled'],
  secret: 'sealed for this batch',
};

export const batch = (number: number, fields: Partial<Batch> = {}): Batch =>
  sampleBatch(new Date(start + number), {
    id: `01a20300-0000-7000-9000-${String(number).padStart(12, '0')}`,
    workspaceId,
    agentId,
    apiKeyId: 'key_frozen1',
    total: 1,
    expiresAt: at(24 * 60),
    ...fields,
  });

export const batchRequest = (requestIndex: number, fields: Partial<BatchRequest> = {}): BatchRequest =>
  sampleRequest(requestIndex, {
    customId: `id-${requestIndex}`,
    message: `Message ${requestIndex}`,
    agentId,
    name: `id-${requestIndex}`,
    ...fields,
  });
