import * as z from 'zod';
import { batchResultStatuses, batchStatuses } from './batch-statuses.ts';
import { count, errorCode, resourceId, timestamp, uuid } from './fields.ts';
import { incomplete } from './message.ts';

const pairs = z.record(z.string(), z.string());

/** Specification, section 2.9. `metadata` and `expires_at` are additions. */
export const batch = z
  .object({
    id: uuid,
    status: z.enum(batchStatuses),
    agent_id: uuid,
    total_requests: count,
    completed_requests: count,
    failed_requests: count,
    metadata: pairs,
    created_at: timestamp,
    completed_at: timestamp.nullable(),
    cancelled_at: timestamp.nullable(),
    expires_at: timestamp,
  })
  .meta({ id: 'Batch' });

export type BatchResource = z.infer<typeof batch>;

/** `cached_prompt_tokens` is an addition to the specification. */
export const modelCall = z
  .object({
    model: z.string(),
    call_type: z.string(),
    total_tokens: count,
    prompt_tokens: count,
    completion_tokens: count,
    cached_prompt_tokens: count,
  })
  .meta({ id: 'ModelCall' });
export type ModelCallResource = z.infer<typeof modelCall>;

/** Specification, section 2.12. `cached_prompt_tokens` is an addition. */
const batchResultUsage = z
  .object({
    tool_calls: z.array(modelCall),
    total_calls: count,
    total_tokens: count,
    total_prompt_tokens: count,
    total_completion_tokens: count,
    cached_prompt_tokens: count,
    main_response: modelCall.nullable(),
  })
  .meta({ id: 'BatchResultUsage' });

/** Specification, section 2.12. `message_id` and `incomplete` are additions. */
export const batchResult = z
  .object({
    custom_id: z.string(),
    status: z.enum(batchResultStatuses),
    response_content: z.string().nullable(),
    response_usage: batchResultUsage.nullable(),
    incomplete: incomplete.nullable(),
    error_code: errorCode.nullable(),
    error_message: z.string().nullable(),
    history_id: resourceId.nullable(),
    conversation_id: resourceId.nullable(),
    message_id: resourceId.nullable(),
    processed_at: timestamp.nullable(),
  })
  .meta({ id: 'BatchResult' });

export type BatchResultResource = z.infer<typeof batchResult>;

/** Specification, section 6.2. `metadata` is an addition. */
export const webhookPayload = z
  .object({
    event: z.enum(['batch.completed', 'batch.failed', 'batch.cancelled']),
    timestamp,
    data: z
      .object({
        id: uuid,
        status: z.enum(batchStatuses),
        total_requests: count,
        completed_requests: count,
        failed_requests: count,
        metadata: pairs,
      })
      .meta({ id: 'BatchEndedEventData' }),
  })
  .meta({ id: 'BatchEndedEvent' });

export type WebhookPayload = z.infer<typeof webhookPayload>;
