import * as z from 'zod';
import { agent } from './agent.ts';
import { batch, batchResult } from './batch.ts';
import { chat, deletedChat, stoppedReply } from './chat.ts';
import { failedUpload, message, uploadedFile } from './message.ts';
import { errorCode } from './numbers.ts';
import { chatCompletion } from './openai/chat-completion.ts';
import { openAiModel } from './openai/model.ts';
import { pagination } from './pagination-object.ts';
import { route as cancelBatch } from './routes/cancel-batch.ts';
import { route as completeChat } from './routes/complete-chat.ts';
import { route as createBatch } from './routes/create-batch.ts';
import { route as createChat } from './routes/create-chat.ts';
import { route as deleteChat } from './routes/delete-chat.ts';
import { route as deleteFile } from './routes/delete-file.ts';
import { dialectOf } from './routes/dialect.ts';
import { route as eraseUser } from './routes/erase-user.ts';
import { route as getBatch } from './routes/get-batch.ts';
import { route as getChat } from './routes/get-chat.ts';
import { route as getModel } from './routes/get-model.ts';
import { route as listBatchResults } from './routes/list-batch-results.ts';
import { route as listBatches } from './routes/list-batches.ts';
import { route as listChats } from './routes/list-chats.ts';
import { route as listMessages } from './routes/list-messages.ts';
import { route as listModels } from './routes/list-models.ts';
import { route as listPublishedAgents } from './routes/list-published-agents.ts';
import { route as recordFeedback } from './routes/record-feedback.ts';
import { route as rejectOpenAiPath } from './routes/reject-openai-path.ts';
import { route as renameChat } from './routes/rename-chat.ts';
import { route as resumeStream } from './routes/resume-stream.ts';
import type { Route as AnyRoute } from './routes/route.ts';
import { route as sendMessage } from './routes/send-message.ts';
import { route as stopReply } from './routes/stop-reply.ts';
import { route as uploadFile } from './routes/upload-file.ts';
import { deletedFile } from './upload.ts';
import { erasedUser } from './user.ts';

/** All routes. Function bundles do not import this file: a route's function imports its own route. */
export const routes = {
  'list-published-agents': listPublishedAgents,
  'create-chat': createChat,
  'list-chats': listChats,
  'get-chat': getChat,
  'rename-chat': renameChat,
  'delete-chat': deleteChat,
  'erase-user': eraseUser,
  'list-messages': listMessages,
  'send-message': sendMessage,
  'stop-reply': stopReply,
  'resume-stream': resumeStream,
  'upload-file': uploadFile,
  'delete-file': deleteFile,
  'record-feedback': recordFeedback,
  'create-batch': createBatch,
  'list-batches': listBatches,
  'get-batch': getBatch,
  'list-batch-results': listBatchResults,
  'cancel-batch': cancelBatch,
  'list-models': listModels,
  'get-model': getModel,
  'complete-chat': completeChat,
  'reject-openai-path': rejectOpenAiPath,
} as const satisfies Readonly<Record<string, AnyRoute>>;

export type RouteName = keyof typeof routes;
export type Route = AnyRoute & { readonly name: RouteName };

/** The routes of docs/openapi.json: the service's own interface. */
export const documentedRoutes: readonly Route[] = Object.values<Route>(routes).filter(
  (route) => dialectOf(route).isInOpenApiDocument,
);

const envelopeOf = <Data extends z.ZodType>(id: string, data: Data) =>
  z.object({ data, message: z.string().nullable(), error_code: errorCode }).meta({ id });

const listEnvelopeOf = <Item extends z.ZodType>(id: string, item: Item) =>
  z
    .object({ data: z.array(item), message: z.string().nullable(), error_code: errorCode, pagination })
    .meta({ id });

const failureEnvelopeOf = <Data extends z.ZodType>(id: string, data: Data) =>
  z.object({ data, message: z.string(), error_code: errorCode }).meta({ id });

export const errorEnvelope = failureEnvelopeOf('ErrorEnvelope', z.record(z.string(), z.unknown()).nullable());

export const uploadErrorEnvelope = failureEnvelopeOf('UploadErrorEnvelope', failedUpload.nullable());

const chatEnvelope = envelopeOf('ChatEnvelope', chat);
const batchEnvelope = envelopeOf('BatchEnvelope', batch);

/** Generators of clients cannot read a schema that is null alone. */
const noData = z.null().meta({ override: { type: ['object', 'null'], additionalProperties: true } });

/** The error of the routes of OpenAI's dialect. */
export const openAiErrorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

/** The success response of each route, for OpenAPI and tests. */
export const responses = {
  'list-published-agents': envelopeOf('AgentListEnvelope', z.array(agent)),
  'create-chat': chatEnvelope,
  'list-chats': listEnvelopeOf('ChatListEnvelope', chat),
  'get-chat': chatEnvelope,
  'rename-chat': chatEnvelope,
  'delete-chat': envelopeOf('DeletedChatEnvelope', deletedChat),
  'erase-user': envelopeOf('ErasedUserEnvelope', erasedUser),
  'list-messages': listEnvelopeOf('MessageListEnvelope', message),
  'send-message': envelopeOf('ReplyEnvelope', z.string()),
  'stop-reply': envelopeOf('StoppedReplyEnvelope', stoppedReply),
  /** A stream of events. */
  'resume-stream': z.never(),
  'upload-file': envelopeOf('UploadedFileEnvelope', uploadedFile),
  'delete-file': envelopeOf('DeletedFileEnvelope', deletedFile),
  'record-feedback': envelopeOf('FeedbackEnvelope', noData),
  'create-batch': batchEnvelope,
  'list-batches': listEnvelopeOf('BatchListEnvelope', batch),
  'get-batch': batchEnvelope,
  'list-batch-results': listEnvelopeOf('BatchResultListEnvelope', batchResult),
  'cancel-batch': batchEnvelope,
  'list-models': z.object({ object: z.literal('list'), data: z.array(openAiModel) }),
  'get-model': openAiModel,
  'complete-chat': chatCompletion,
  /** Always an error. */
  'reject-openai-path': z.never(),
} as const satisfies Record<RouteName, z.ZodType>;
