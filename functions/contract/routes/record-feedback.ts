import * as z from 'zod';
import { feedbackType } from '../feedback.ts';
import { externalUserId, idParameter, optional, optionalText } from '../fields.ts';
import { limits } from '../limits.ts';
import { chatPath, defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'record-feedback',
  method: 'POST',
  path: '/chats/{chat_id}/messages/{message_id}/feedbacks',
  summary: 'Rate a reply',
  description: 'Feedback by the same user on the same message replaces the earlier feedback.',
  tag: 'Feedback',
  rateClass: 'writes',
  parameters: chatPath.extend({ message_id: idParameter }),
  body: z
    .object({
      external_user_id: externalUserId,
      type: feedbackType,
      content: optional(optionalText(limits.feedbackCharacters)),
    })
    .refine((feedback) => feedback.type === 'sys_improve' || !feedback.content, {
      path: ['content'],
      error: 'is only allowed when type is sys_improve',
    })
    .meta({ id: 'RecordFeedbackRequest' }),
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
