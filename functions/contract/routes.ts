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

/** All routes. A route's function imports its own route file instead. */
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
