import * as z from 'zod';
import { count, errorCode, resourceId, timestamp, uuid, withDefault } from './fields.ts';
import { limits } from './limits.ts';
import { uploadScope } from './upload.ts';

export const attachedFileUuids = withDefault(
  z.array(uuid).max(limits.attachedFiles, { error: `must have at most ${limits.attachedFiles} elements` }),
  [],
);

/** An addition to the specification. */
export const incomplete = z.string();

export const feedbackType = z.enum(['sys_helpful', 'sys_improve']);
export type FeedbackType = z.infer<typeof feedbackType>;

/** Specification, section 2.6. `cached_prompt_tokens` is an addition. */
export const tokenUsage = z
  .object({
    total_prompt_tokens: count,
    total_completion_tokens: count,
    total_tokens: count,
    total_calls: count,
    cached_prompt_tokens: count,
  })
  .meta({ id: 'TokenUsage' });

export type TokenUsage = z.infer<typeof tokenUsage>;

const reasoningStepResult = z
  .object({ success: z.boolean(), data: z.unknown() })
  .meta({ id: 'ReasoningStepResult' });

export const reasoningStep = z
  .object({
    id: z.string(),
    type: z.string(),
    content: z.string(),
    args: z.record(z.string(), z.unknown()),
    result: reasoningStepResult.nullable(),
    started_at: timestamp,
    ended_at: timestamp.nullable(),
    token_usage: tokenUsage,
  })
  .meta({ id: 'ReasoningStep' });

export type ReasoningStep = z.infer<typeof reasoningStep>;

const fileFields = { original_name: z.string(), content_type: z.string(), size: count };

/** Specification, section 2.7. `hint` is an addition. */
export const failedUpload = z
  .object({
    ...fileFields,
    scope: uploadScope,
    error_msg: z.string(),
    hint: z.string().optional(),
  })
  .meta({ id: 'FailedUpload' });

/** Specification, section 2.7. */
export const uploadedFile = z
  .object({
    uuid,
    ...fileFields,
    file_url: z.url(),
    scope: uploadScope,
  })
  .meta({ id: 'UploadedFile' });

export type UploadedFile = z.infer<typeof uploadedFile>;

const replyError = z.object({ code: errorCode, message: z.string() }).meta({ id: 'ReplyError' });
export type ReplyError = z.infer<typeof replyError>;

/** Empty for a user message. */
const messageMeta = z
  .object({
    reasoning_steps: z.array(reasoningStep).optional(),
    token_usage: tokenUsage.optional(),
    error: replyError.optional(),
    incomplete: incomplete.optional(),
  })
  .meta({ id: 'MessageMeta' });

/** Specification, section 2.5. `created_at`, `meta.error` and `meta.incomplete` are additions. */
export const message = z
  .object({
    id: resourceId,
    role: z.enum(['user', 'assistant']),
    group_id: z.string(),
    content: z.string(),
    meta: messageMeta,
    attached_files: z.array(uploadedFile),
    feedback_counts: z.record(z.string(), count),
    created_at: timestamp,
  })
  .meta({ id: 'Message' });

export type MessageResource = z.infer<typeof message>;
