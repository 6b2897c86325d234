import * as z from 'zod';
import { externalUserId, text, textOfBytes, timestamp, uuid } from './fields.ts';
import { limits } from './limits.ts';
import { attachedFileUuids } from './message.ts';
import { pageQuery } from './pagination.ts';

export const batchStatuses = ['in_progress', 'completed', 'failed', 'cancelling', 'cancelled'] as const;
export type BatchStatus = (typeof batchStatuses)[number];

export const batchResultStatuses = ['pending', 'processing', 'success', 'failed'] as const;
export type BatchResultStatus = (typeof batchResultStatuses)[number];

/** Specification, section 2.9; `expires_at`, when pending requests time out, is an addition. */
export const batch = z
  .object({
    id: uuid,
    status: z.enum(batchStatuses),
    agent_id: uuid,
    total_requests: z.int(),
    completed_requests: z.int(),
    failed_requests: z.int(),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
    cancelled_at: timestamp.nullable(),
    expires_at: timestamp,
  })
  .meta({ id: 'Batch' });

export type BatchResource = z.infer<typeof batch>;

/** Specification, section 2.10. */
const batchRequest = z.object({
  custom_id: text(limits.customIdCharacters),
  message: textOfBytes(limits.messageBytes),
  agent_id: uuid.optional(),
  external_user_id: externalUserId.optional(),
  name: text(limits.chatNameCharacters).optional(),
  attached_file_uuids: attachedFileUuids,
  history_id: z.int().min(1).optional(),
});

export const webhookEvents = ['completed', 'failed', 'cancelled'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** Specification, section 2.11. */
const webhook = z.object({
  url: z
    .string()
    .max(limits.webhookUrlCharacters, { error: `must be at most ${limits.webhookUrlCharacters} characters` })
    .refine((value) => URL.canParse(value) && new URL(value).protocol === 'https:', {
      error: 'must be an HTTPS URL',
    })
    .meta({ format: 'uri' }),
  events: z
    .array(z.enum(webhookEvents))
    .min(1, { error: 'must have at least 1 element' })
    .max(webhookEvents.length, { error: `must have at most ${webhookEvents.length} elements` })
    .default(['completed', 'failed']),
  secret: text(limits.webhookSecretCharacters).optional(),
});

export const createBatchBody = z.object({
  agent_id: uuid,
  requests: z
    .array(batchRequest)
    .min(1, { error: 'must have at least 1 element' })
    .max(limits.batchRequests, { error: `must have at most ${limits.batchRequests} elements` }),
  webhook: webhook.optional(),
});

export type CreateBatchBody = z.infer<typeof createBatchBody>;

const tokens = { total_tokens: z.int(), prompt_tokens: z.int(), completion_tokens: z.int() };

/** One call of a model: `chat` for the agent's own, else the type of the reasoning step that it was part of. */
export const modelCall = z.object({ model: z.string(), call_type: z.string(), ...tokens });
export type ModelCallResource = z.infer<typeof modelCall>;

/** Specification, section 2.12; `message_id`, the reply's, is an addition. */
export const batchResult = z
  .object({
    custom_id: z.string(),
    status: z.enum(batchResultStatuses),
    response_content: z.string().nullable(),
    response_usage: z
      .object({
        tool_calls: z.array(modelCall).meta({ description: 'Calls of models that tools made.' }),
        total_calls: z.int(),
        total_tokens: z.int(),
        total_prompt_tokens: z.int(),
        total_completion_tokens: z.int(),
        main_response: modelCall
          .nullable()
          .meta({ description: 'The call of the model that gave the reply its end.' }),
      })
      .nullable(),
    error_code: z.int().nullable(),
    error_message: z.string().nullable(),
    history_id: z.int().nullable(),
    conversation_id: z.int().nullable(),
    message_id: z.int().nullable(),
    processed_at: timestamp.nullable(),
  })
  .meta({ id: 'BatchResult' });

export type BatchResultResource = z.infer<typeof batchResult>;

export const listBatchesQuery = pageQuery.extend({ status: z.enum(batchStatuses).optional() });
export const listBatchResultsQuery = pageQuery.extend({ status: z.enum(batchResultStatuses).optional() });

/** What a webhook receiver gets (specification, section 6.2). */
export const webhookPayload = z.object({
  event: z.enum(['batch.completed', 'batch.failed', 'batch.cancelled']),
  timestamp,
  data: z.object({
    id: uuid,
    status: z.enum(batchStatuses),
    total_requests: z.int(),
    completed_requests: z.int(),
    failed_requests: z.int(),
  }),
});

export type WebhookPayload = z.infer<typeof webhookPayload>;
