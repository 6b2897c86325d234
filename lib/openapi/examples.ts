import type * as z from 'zod';
import type { BatchResource, BatchResultResource, WebhookPayload } from '#contract/batch.ts';
import type { ChatResource } from '#contract/chat.ts';
import type { StreamEvent } from '#contract/events.ts';
import type { MessageResource, UploadedFile } from '#contract/message.ts';
import { type RouteName, responses, type routes } from '#contract/routes.ts';
import { uploadFailures, uploadHints } from '#contract/upload.ts';

// The ids, texts and numbers of the examples belong together.
const agentId = '0197f2ac-8a4e-4c1b-9d52-3f6e1b0a7c44';
const otherAgentId = '0197f2ac-91d0-4a7e-8c3b-5a9d2e4f6b18';
const fileUuid = '6f1c2a52-5c1d-4f3e-9f0a-2d6b8c1e7a90';
const batchId = '3b9d7c60-41e2-4f0a-b6d8-92c5e1f70a34';
const chatId = 1100;
/** The chat's id times 2^21, plus the position in the chat. */
const messageId = 2_306_867_201;
const replyId = 2_306_867_202;
const user = 'customer-4711';
const replyText = 'You can return an item within 30 days.';
const groupId = `turn_${messageId}`;
const responseId = 'resp_9f8a1c3e5b7d42f6a0c4e8b2d6f1a3c5';

const stepUsage = {
  ...{ total_prompt_tokens: 0, total_completion_tokens: 0, total_tokens: 0 },
  ...{ total_calls: 0, cached_prompt_tokens: 0 },
};
const usage = {
  ...{ total_prompt_tokens: 412, total_completion_tokens: 57, total_tokens: 469 },
  ...{ total_calls: 2, cached_prompt_tokens: 256 },
};
const step = {
  id: 'call_1',
  type: 'consultant_retrieve_context_source',
  content: 'Searching the knowledge base',
  args: { query: 'returns' },
};
const stepResult = {
  success: true,
  data: {
    results: [
      {
        text: 'Items may be returned …',
        source: { document_id: '0197f2ad-02b1-4d0c-8a5e-7c3b9f1d6e20', name: 'terms.md', offset: 0 },
        score: 4.2,
      },
    ],
  },
};

const chat: ChatResource = {
  id: chatId,
  name: 'Returns',
  meta: { external_user_id: user, conversation_agent_id: agentId },
  external_user_id: user,
  metadata: { topic: 'returns' },
  created_at: '2026-01-05T09:00:00.000Z',
  updated_at: '2026-01-05T09:00:00.000Z',
};

const file: UploadedFile = {
  uuid: fileUuid,
  original_name: 'invoice.txt',
  content_type: 'text/plain',
  size: 1832,
  file_url: 'https://files.example.com/0a1b2c/invoice.txt?signature=4f3e',
  scope: 'persistent',
};

const messages: MessageResource[] = [
  {
    id: messageId,
    role: 'user',
    group_id: groupId,
    content: 'How do I return an item?',
    meta: {},
    attached_files: [file],
    feedback_counts: {},
    created_at: '2026-01-05T09:00:03.120Z',
  },
  {
    id: replyId,
    role: 'assistant',
    group_id: groupId,
    content: replyText,
    meta: {
      reasoning_steps: [
        {
          ...step,
          result: stepResult,
          started_at: '2026-01-05T09:00:04.007Z',
          ended_at: '2026-01-05T09:00:04.391Z',
          token_usage: stepUsage,
        },
      ],
      token_usage: usage,
    },
    attached_files: [],
    feedback_counts: { sys_helpful: 1 },
    created_at: '2026-01-05T09:00:06.842Z',
  },
];

const batch: BatchResource = {
  id: batchId,
  status: 'in_progress',
  agent_id: agentId,
  total_requests: 2,
  completed_requests: 0,
  failed_requests: 0,
  metadata: { import: '2026-01-05' },
  created_at: '2026-01-05T10:00:00.000Z',
  completed_at: null,
  cancelled_at: null,
  expires_at: '2026-01-06T10:00:00.000Z',
};

const endedBatch: BatchResource = {
  ...batch,
  status: 'completed',
  completed_requests: 1,
  failed_requests: 1,
  completed_at: '2026-01-05T10:00:21.500Z',
};

const modelCall = {
  model: 'openai:gpt-5-mini',
  call_type: 'chat',
  total_tokens: 143,
  prompt_tokens: 120,
  completion_tokens: 23,
  cached_prompt_tokens: 0,
};

const results: BatchResultResource[] = [
  {
    custom_id: 'ticket-1',
    status: 'success',
    response_content: replyText,
    response_usage: {
      tool_calls: [],
      total_calls: 1,
      total_tokens: 143,
      total_prompt_tokens: 120,
      total_completion_tokens: 23,
      cached_prompt_tokens: 0,
      main_response: modelCall,
    },
    incomplete: null,
    error_code: null,
    error_message: null,
    history_id: 1101,
    conversation_id: 1101,
    message_id: 2_308_964_354,
    processed_at: '2026-01-05T10:00:20.114Z',
  },
  {
    custom_id: 'ticket-2',
    status: 'failed',
    response_content: null,
    response_usage: null,
    incomplete: null,
    error_code: 400,
    error_message: 'Chat not found',
    history_id: 7,
    conversation_id: 7,
    message_id: null,
    processed_at: '2026-01-05T10:00:21.402Z',
  },
];

const success = <Data>(data: Data) => ({ data, message: null, error_code: 0 });
const page = <Item>(items: Item[]) => ({
  ...success(items),
  pagination: {
    limit: 50,
    offset: 0,
    total_records: items.length,
    total_pages: 1,
    current_page: 1,
    next_page: null,
    prev_page: null,
  },
});

type DocumentedRouteName = Exclude<
  keyof typeof routes,
  'list-models' | 'get-model' | 'complete-chat' | 'reject-openai-path'
>;
type Bodies = { [Name in DocumentedRouteName]: z.input<(typeof routes)[Name]['body']> };

export const requestExamples = {
  'create-chat': {
    name: 'Returns',
    agent_id: agentId,
    external_user_id: user,
    metadata: { topic: 'returns' },
  },
  'rename-chat': { name: 'Return of a lamp', external_user_id: user },
  'send-message': {
    message: 'How do I return an item?',
    stream: false,
    agent_id: agentId,
    attached_file_uuids: [fileUuid],
    external_user_id: user,
  },
  'stop-reply': { external_user_id: user, response_id: responseId },
  'upload-file': { file: 'the bytes of the file', data: { scope: 'persistent' } },
  'record-feedback': { external_user_id: user, type: 'sys_improve', content: 'Name the address, please.' },
  'create-batch': {
    agent_id: agentId,
    requests: [
      { custom_id: 'ticket-1', message: 'How do I return an item?', external_user_id: user },
      { custom_id: 'ticket-2', message: 'And two items?', agent_id: otherAgentId, history_id: 7 },
    ],
    webhook: {
      url: 'https://hooks.example.com/batches',
      events: ['completed', 'failed'],
      secret: 'a secret',
    },
    metadata: { import: '2026-01-05' },
  },
} satisfies Partial<Bodies>;

type Responses = { [Name in DocumentedRouteName]: z.infer<(typeof responses)[Name]> };

const agent = {
  id: agentId,
  name: 'Support',
  description: 'Answers questions about orders.',
  workspace_id: 'ws_3f6e1b0a7c44',
  publish_state: 'published',
  agent_type: 'consultant',
  system_prompt: 'You help customers of a lamp shop.',
  unified_tools: [
    {
      type: 'consultant_retrieve_context_source',
      name: 'search_terms',
      description: 'Searches the terms of the shop.',
      config: {},
    },
  ],
  suggested_questions: ['How do I return an item?'],
  use_search: false,
  meta: { temperature: 0.2 },
  llm_model: 'openai:gpt-5-mini',
  version_number: 3,
  published_version_id: '0197f2ad-0c5e-4b77-9a10-6d2f8e4c1b93',
  published_at: '2026-01-04T16:20:00.000Z',
  created_at: '2026-01-02T08:00:00.000Z',
  updated_at: '2026-01-04T16:20:00.000Z',
};

const resourceExamples: Readonly<Record<string, unknown>> = { Agent: agent, Batch: endedBatch, Chat: chat };

export const responseExamples = {
  'list-published-agents': success([agent]),
  'list-chats': page([chat]),
  'rename-chat': success({ ...chat, name: 'Return of a lamp', updated_at: '2026-01-05T09:10:00.000Z' }),
  'delete-chat': success({ id: chatId, deleted: true }),
  'erase-user': success({ external_user_id: user, status: 'erasing' }),
  'list-messages': page(messages),
  'send-message': success(replyText),
  'stop-reply': success({ chat_id: chatId, response_id: responseId, status: 'stopped' as const }),
  'upload-file': success(file),
  'delete-file': success({ uuid: file.uuid, deleted: true }),
  'record-feedback': { data: null, message: 'Feedback created', error_code: 0 },
  'create-batch': success(batch),
  'list-batches': page([endedBatch]),
  'list-batch-results': page(results),
  'cancel-batch': success({ ...batch, status: 'cancelling' as const }),
} satisfies Partial<Responses>;

/** Undefined for a route without an example. */
export function responseExampleOf(name: RouteName): unknown {
  const { [name]: own }: Partial<Record<RouteName, unknown>> = responseExamples;
  const { data } = 'shape' in responses[name] ? (responses[name].shape as { data?: z.ZodType }) : {};
  const id = data?.meta()?.id ?? '';
  return own ?? (id in resourceExamples ? success(resourceExamples[id]) : undefined);
}

const event = (sequence_number: number) => ({ response_id: responseId, chat_id: chatId, sequence_number });

export const eventExamples: { [Type in StreamEvent['type']]: Extract<StreamEvent, { type: Type }> } = {
  'response.created': {
    type: 'response.created',
    ...event(0),
    message_id: replyId,
    agent_id: agentId,
    model: 'openai:gpt-5-mini',
  },
  'response.chat.title.updated': {
    type: 'response.chat.title.updated',
    ...event(1),
    name: 'Return of an item',
  },
  'response.reasoning_step.start': {
    type: 'response.reasoning_step.start',
    ...event(2),
    step: { ...step, timestamp: '2026-01-05T09:00:04.007Z' },
  },
  'response.reasoning_step.end': {
    type: 'response.reasoning_step.end',
    ...event(3),
    step: {
      id: step.id,
      type: step.type,
      result: stepResult,
      timestamp: '2026-01-05T09:00:04.391Z',
      token_usage: stepUsage,
    },
  },
  'response.output_text.delta': { type: 'response.output_text.delta', ...event(4), delta: 'You can ' },
  'response.output_text.completed': {
    type: 'response.output_text.completed',
    ...event(12),
    message_id: replyId,
    final_text: replyText,
    usage,
  },
  'response.error': {
    type: 'response.error',
    ...event(5),
    message: 'The model cannot be reached: try again later, request id 7d0e4b52',
    code: 10005,
  },
};

const failure = (error_code: number, message: string) => ({ data: null, message, error_code });

export const failureExamples: Readonly<Record<string, unknown>> = {
  400: failure(10006, 'agent_id must be a UUID'),
  403: failure(14103, 'external_user_id is not on the whitelist of this workspace'),
  404: failure(10003, 'Chat not found'),
  429: failure(10029, 'Rate limit exceeded: sends are limited to 5/s:10, try again in 1 s'),
  500: failure(10005, 'Internal server error, request id 7d0e4b52'),
  503: failure(10005, 'Internal server error, request id 7d0e4b52'),
};

export const accessDeniedExample = failure(10001, 'Access denied');

const uploadFailure = uploadFailures.extension('.exe');

export const failedUploadExample = {
  data: {
    original_name: 'setup.exe',
    content_type: 'application/octet-stream',
    size: 0,
    scope: 'persistent',
    error_msg: uploadFailure,
    hint: uploadHints.extensions,
  },
  message: uploadFailure,
  error_code: 10006,
};

export const webhookExample: WebhookPayload = {
  event: 'batch.completed',
  timestamp: '2026-01-05T10:00:21.500Z',
  data: {
    id: batchId,
    status: 'completed',
    total_requests: 2,
    completed_requests: 1,
    failed_requests: 1,
    metadata: { import: '2026-01-05' },
  },
};
