import * as z from 'zod';
import { limits } from '../limits.ts';
import { openAiPaths } from './dialect.ts';
import { defaults, longBody, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'complete-chat',
  method: 'POST',
  ...openAiPaths('/chat/completions'),
  dialect: 'openai',
  summary: 'Get a reply of an agent, in the form of OpenAI chat completions',
  rateClass: 'sends',
  transfer: 'streamed',
  // As long as send-message.
  timeoutSeconds: limits.replySeconds + 15,
  // The handler has the schema, because an error of OpenAI names the parameter that is wrong. A schema of an object would
  // copy its 60,000 fields.
  body: z.custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: 'must be an object' },
  ),
  largestBody: longBody,
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
} as const satisfies Route;
