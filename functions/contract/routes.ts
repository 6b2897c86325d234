import * as z from 'zod';
import { agent } from './agent.ts';
import { batch, batchResult } from './batch.ts';
import { chat, deletedChat, erasedUser, stoppedReply } from './chat.ts';
import { errorCode } from './fields.ts';
import { failedUpload, message, uploadedFile } from './message.ts';
import { chatCompletion, openAiModel } from './openai.ts';
import { pagination } from './pagination-object.ts';
import {
  cancelBatchRoute,
  createBatchRoute,
  getBatchRoute,
  listBatchesRoute,
  listBatchResultsRoute,
} from './routes/batches.ts';
import {
  createChatRoute,
  deleteChatRoute,
  getChatRoute,
  listChatsRoute,
  listMessagesRoute,
  renameChatRoute,
} from './routes/chats.ts';
import { dialectOf } from './routes/dialect.ts';
import { deleteFileRoute, uploadFileRoute } from './routes/files.ts';
import {
  recordFeedbackRoute,
  resumeStreamRoute,
  sendMessageRoute,
  stopReplyRoute,
} from './routes/messages.ts';
import { completeChatRoute, getModelRoute, listModelsRoute, rejectOpenaiPathRoute } from './routes/openai.ts';
import type { Route as AnyRoute } from './routes/route.ts';
import { eraseUserRoute, listPublishedAgentsRoute } from './routes/workspace.ts';
import { deletedFile } from './upload.ts';

/** Function bundles must not import this file: it creates the schemas of all routes. */
export const routes = {
  'list-published-agents': listPublishedAgentsRoute,
  'create-chat': createChatRoute,
  'list-chats': listChatsRoute,
  'get-chat': getChatRoute,
  'rename-chat': renameChatRoute,
  'delete-chat': deleteChatRoute,
  'erase-user': eraseUserRoute,
  'list-messages': listMessagesRoute,
  'send-message': sendMessageRoute,
  'stop-reply': stopReplyRoute,
  'resume-stream': resumeStreamRoute,
  'upload-file': uploadFileRoute,
  'delete-file': deleteFileRoute,
  'record-feedback': recordFeedbackRoute,
  'create-batch': createBatchRoute,
  'list-batches': listBatchesRoute,
  'get-batch': getBatchRoute,
  'list-batch-results': listBatchResultsRoute,
  'cancel-batch': cancelBatchRoute,
  'list-models': listModelsRoute,
  'get-model': getModelRoute,
  'complete-chat': completeChatRoute,
  'reject-openai-path': rejectOpenaiPathRoute,
} as const satisfies Readonly<Record<string, AnyRoute>>;

export type RouteName = keyof typeof routes;
export type Route = AnyRoute & { readonly name: RouteName };

export const documentedRoutes: readonly Route[] = Object.values<Route>(routes).filter(
  (route) => dialectOf(route).isInOpenApiDocument,
);

const envelopeOf = <Data extends z.ZodType>(id: string, description: string, data: Data) =>
  z.object({ data, message: z.string().nullable(), error_code: errorCode }).meta({ id, description });

const listEnvelopeOf = <Item extends z.ZodType>(id: string, item: Item) =>
  z
    .object({ data: z.array(item), message: z.string().nullable(), error_code: errorCode, pagination })
    .meta({ id });

const failureEnvelopeOf = <Data extends z.ZodType>(id: string, data: Data) =>
  z.object({ data, message: z.string(), error_code: errorCode }).meta({ id });

export const errorEnvelope = failureEnvelopeOf('ErrorEnvelope', z.record(z.string(), z.unknown()).nullable());

export const uploadErrorEnvelope = failureEnvelopeOf('UploadErrorEnvelope', failedUpload.nullable());

const chatEnvelope = envelopeOf('ChatEnvelope', 'A chat.', chat);
const batchEnvelope = envelopeOf('BatchEnvelope', 'A batch.', batch);

/** In OpenAPI it may be an object too: some generators of clients cannot read a schema of only null. */
const noData = z.null().meta({ override: { type: ['object', 'null'], additionalProperties: true } });

export const responses = {
  'list-published-agents': envelopeOf('AgentListEnvelope', 'A list of agents.', z.array(agent)),
  'create-chat': chatEnvelope,
  'list-chats': listEnvelopeOf('ChatListEnvelope', chat),
  'get-chat': chatEnvelope,
  'rename-chat': chatEnvelope,
  'delete-chat': envelopeOf('DeletedChatEnvelope', 'A deleted chat.', deletedChat),
  'erase-user': envelopeOf('ErasedUserEnvelope', 'A user whose erasure has started.', erasedUser),
  'list-messages': listEnvelopeOf('MessageListEnvelope', message),
  'send-message': envelopeOf('ReplyEnvelope', 'A reply as JSON.', z.string()),
  'stop-reply': envelopeOf('StoppedReplyEnvelope', 'A stopped reply.', stoppedReply),
  /** The route responds with a stream of events. */
  'resume-stream': z.never(),
  'upload-file': envelopeOf('UploadedFileEnvelope', 'An uploaded file.', uploadedFile),
  'delete-file': envelopeOf('DeletedFileEnvelope', 'A deleted file.', deletedFile),
  'record-feedback': envelopeOf('FeedbackEnvelope', 'The feedback was stored.', noData),
  'create-batch': batchEnvelope,
  'list-batches': listEnvelopeOf('BatchListEnvelope', batch),
  'get-batch': batchEnvelope,
  'list-batch-results': listEnvelopeOf('BatchResultListEnvelope', batchResult),
  'cancel-batch': batchEnvelope,
  'list-models': z.object({ object: z.literal('list'), data: z.array(openAiModel) }),
  'get-model': openAiModel,
  'complete-chat': chatCompletion,
  /** The route always responds with an error. */
  'reject-openai-path': z.never(),
} as const satisfies Record<RouteName, z.ZodType>;
