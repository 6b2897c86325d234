import * as z from 'zod';
import { agent } from './agent.ts';
import { batch, batchResult } from './batch.ts';
import { chat, deletedChat, stoppedReply } from './chat.ts';
import { message, uploadedFile } from './message.ts';
import { chatCompletion } from './openai/chat-completion.ts';
import { openAiModel } from './openai/model.ts';
import { pagination } from './pagination-object.ts';
import type { RouteName } from './routes/route.ts';
import { erasedUser } from './user.ts';

const envelopeOf = <Data extends z.ZodType>(data: Data) =>
  z.object({ data, message: z.string().nullable(), error_code: z.literal(0) });

const listEnvelopeOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ data: z.array(item), message: z.string().nullable(), error_code: z.literal(0), pagination });

export const errorEnvelope = z
  .object({
    data: z.union([z.record(z.string(), z.unknown()), z.null()]),
    message: z.string(),
    error_code: z.int(),
  })
  .meta({ id: 'Error' });

/** The error of the routes of OpenAI's dialect. */
export const openAiErrorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

/** The success response of each route, for OpenAPI and tests. Function bundles do not import it. */
export const responses = {
  'list-published-agents': envelopeOf(z.array(agent)),
  'create-chat': envelopeOf(chat),
  'list-chats': listEnvelopeOf(chat),
  'get-chat': envelopeOf(chat),
  'rename-chat': envelopeOf(chat),
  'delete-chat': envelopeOf(deletedChat),
  'erase-user': envelopeOf(erasedUser),
  'list-messages': listEnvelopeOf(message),
  'send-message': envelopeOf(z.string()),
  'stop-reply': envelopeOf(stoppedReply),
  /** A stream of events. */
  'resume-stream': z.never(),
  'upload-file': envelopeOf(uploadedFile),
  'record-feedback': z.object({
    data: z.null(),
    message: z.literal('Feedback created'),
    error_code: z.literal(0),
  }),
  'create-batch': envelopeOf(batch),
  'list-batches': listEnvelopeOf(batch),
  'get-batch': envelopeOf(batch),
  'list-batch-results': listEnvelopeOf(batchResult),
  'cancel-batch': envelopeOf(batch),
  'list-models': z.object({ object: z.literal('list'), data: z.array(openAiModel) }),
  'get-model': openAiModel,
  'complete-chat': chatCompletion,
  /** Always an error. */
  'reject-openai-path': z.never(),
} as const satisfies Record<RouteName, z.ZodType>;
