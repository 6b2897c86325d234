import * as z from 'zod';
import { batchResultStatuses, batchStatuses } from './batch-statuses.ts';
import { timestamp, uuid } from './fields.ts';
import { incomplete } from './incomplete.ts';

/** Specification, section 2.9. `expires_at` is an addition. */
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
    expires_at: timestamp.meta({ description: 'When requests that have not started time out.' }),
  })
  .meta({ id: 'Batch' });

export type BatchResource = z.infer<typeof batch>;

const tokens = { total_tokens: z.int(), prompt_tokens: z.int(), completion_tokens: z.int() };

/**
 * One model call. `call_type` is `chat` for the agent's own calls, else the type of the reasoning step that made it.
 */
export const modelCall = z.object({ model: z.string(), call_type: z.string(), ...tokens });
export type ModelCallResource = z.infer<typeof modelCall>;

/** Specification, section 2.12. `message_id` and `incomplete` are additions. */
export const batchResult = z
  .object({
    custom_id: z.string(),
    status: z.enum(batchResultStatuses),
    response_content: z.string().nullable(),
    response_usage: z
      .object({
        tool_calls: z.array(modelCall).meta({ description: 'Model calls made by tools.' }),
        total_calls: z.int(),
        total_tokens: z.int(),
        total_prompt_tokens: z.int(),
        total_completion_tokens: z.int(),
        main_response: modelCall.nullable().meta({ description: 'The last model call of the agent itself.' }),
      })
      .nullable(),
    incomplete: incomplete.nullable(),
    error_code: z.int().nullable(),
    error_message: z.string().nullable(),
    history_id: z.int().nullable(),
    conversation_id: z.int().nullable(),
    message_id: z.int().nullable().meta({ description: 'Id of the reply in the history.' }),
    processed_at: timestamp.nullable().meta({ description: 'null until the request has ended.' }),
  })
  .meta({ id: 'BatchResult' });

export type BatchResultResource = z.infer<typeof batchResult>;

/** The body of a webhook (specification, section 6.2). */
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
