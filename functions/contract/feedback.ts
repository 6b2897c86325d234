import * as z from 'zod';

export const feedbackType = z.enum(['sys_helpful', 'sys_improve']);
export type FeedbackType = z.infer<typeof feedbackType>;
