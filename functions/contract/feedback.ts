import * as z from 'zod';
import { externalUserId, optionalText } from './fields.ts';
import { limits } from './limits.ts';

export const feedbackType = z.enum(['sys_helpful', 'sys_improve']);
export type FeedbackType = z.infer<typeof feedbackType>;

/** Specification, section 2.8. */
export const feedbackBody = z
  .object({
    external_user_id: externalUserId,
    type: feedbackType,
    content: optionalText(limits.feedbackCharacters).optional(),
  })
  .refine((feedback) => feedback.type === 'sys_improve' || feedback.content === undefined, {
    path: ['content'],
    error: 'is only allowed when type is sys_improve',
  });
