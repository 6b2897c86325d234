import * as z from 'zod';
import { agent } from './agent.ts';
import { batch, batchResult, createBatchBody, listBatchesQuery, listBatchResultsQuery } from './batch.ts';
import { chat, createChatBody, listChatsQuery } from './chat.ts';
import { envelopeOf, listEnvelopeOf } from './envelope.ts';
import type { ErrorKind } from './errors.ts';
import { feedbackBody } from './feedback.ts';
import { externalUserId, integerParameter, uuid } from './fields.ts';
import { idempotencyHeaders } from './idempotency.ts';
import { listMessagesQuery, message, sendMessageBody, uploadedFile } from './message.ts';
import type { RateClass } from './rate-limits.ts';
import { uploadForm } from './upload.ts';

/** A route of the interface: the gateway, the handlers' types, the OpenAPI document and the tests are made from it. */
export interface Route {
  method: 'GET' | 'POST';
  /** Relative to the base address. */
  path: string;
  summary: string;
  description?: string;
  /** Which of its key's buckets a request takes from. */
  rateClass: RateClass;
  /**
   * `buffered`: one payload of at most 6 MB. `streamed`: written piece by piece, at most 200 MB in AWS;
   * taken by every route whose answer has no bound below it.
   */
  transfer: 'buffered' | 'streamed';
  /** The longest that the function may run, seconds. A buffered route is cut by the gateway at 29 s. */
  timeoutSeconds: number;
  parameters: z.ZodObject;
  query: z.ZodObject;
  headers: z.ZodObject;
  body: z.ZodType;
  /** The body is a form, read part by part, instead of JSON. */
  multipart?: true;
  success: { status: 200 | 202; envelope: z.ZodType };
  /** Kinds of failure besides those that every route has. */
  failures: readonly ErrorKind[];
  /** The answer may also be a server-sent event stream of `streamEvent`. */
  serverSentEvents?: true;
}

const none = z.object({});
const noBody = z.unknown();
const batchPath = z.object({ batch_id: uuid });
const chatPath = z.object({ chat_id: integerParameter(1) });

export const routes = {
  'list-published-agents': {
    method: 'GET',
    path: '/chats/published-agents',
    summary: 'List the published agents of the workspace',
    rateClass: 'reads',
    transfer: 'streamed',
    timeoutSeconds: 29,
    parameters: none,
    query: none,
    headers: none,
    body: noBody,
    success: { status: 200, envelope: envelopeOf(z.array(agent)) },
    failures: [],
  },
  'create-chat': {
    method: 'POST',
    path: '/chats',
    summary: 'Create a chat bound to one agent',
    rateClass: 'writes',
    transfer: 'buffered',
    timeoutSeconds: 29,
    parameters: none,
    query: none,
    headers: idempotencyHeaders,
    body: createChatBody,
    success: { status: 200, envelope: envelopeOf(chat) },
    failures: ['clientNotAllowed', 'notFound'],
  },
  'list-chats': {
    method: 'GET',
    path: '/chats',
    summary: 'List chats',
    rateClass: 'reads',
    transfer: 'streamed',
    timeoutSeconds: 29,
    parameters: none,
    query: listChatsQuery,
    headers: none,
    body: noBody,
    success: { status: 200, envelope: listEnvelopeOf(chat) },
    failures: [],
  },
  'list-messages': {
    method: 'GET',
    path: '/chats/{chat_id}/messages',
    summary: 'Read the history of a chat, oldest message first by default',
    rateClass: 'reads',
    transfer: 'streamed',
    // Lambda lets 2 MB a second of a streamed answer through after its first 6 MB, and 200 MB in all.
    timeoutSeconds: 180,
    parameters: chatPath,
    query: listMessagesQuery,
    headers: z.object({ 'x-external-user-id': externalUserId.optional() }),
    body: noBody,
    success: { status: 200, envelope: listEnvelopeOf(message) },
    failures: ['clientNotAllowed', 'notFound'],
  },
  'send-message': {
    method: 'POST',
    path: '/chats/{chat_id}/messages',
    summary: 'Send a message and get the reply, as a stream of events or as one JSON answer',
    description: 'Idempotency-Key is taken with "stream": false, and refused with a stream.',
    rateClass: 'sends',
    transfer: 'streamed',
    // The longest that API Gateway lets a streamed integration run is 15 minutes; five are more than any reply needs.
    timeoutSeconds: 300,
    parameters: chatPath,
    query: none,
    headers: idempotencyHeaders,
    body: sendMessageBody,
    success: { status: 200, envelope: envelopeOf(z.string()) },
    failures: ['clientNotAllowed', 'notFound'],
    serverSentEvents: true,
  },
  'upload-file': {
    method: 'POST',
    path: '/chats/upload-file',
    summary: 'Upload a file, to attach it to messages',
    description:
      'Files of up to 50 MB at a base address with large uploads, else of about 4.5 MB, the limit of the platform. The data of a refused upload describes the file: original_name, content_type, size, scope and error_msg.',
    rateClass: 'uploads',
    transfer: 'buffered',
    timeoutSeconds: 29,
    parameters: none,
    query: none,
    headers: none,
    body: uploadForm,
    multipart: true,
    success: { status: 200, envelope: envelopeOf(uploadedFile) },
    failures: [],
  },
  'record-feedback': {
    method: 'POST',
    path: '/chats/{chat_id}/messages/{message_id}/feedbacks',
    summary: 'Rate a reply',
    description: 'Feedback by the same user on the same message replaces the earlier one.',
    rateClass: 'writes',
    transfer: 'buffered',
    timeoutSeconds: 29,
    parameters: chatPath.extend({ message_id: integerParameter(1) }),
    query: none,
    headers: none,
    body: feedbackBody,
    success: {
      status: 200,
      envelope: z.object({
        data: z.null(),
        message: z.literal('Feedback created'),
        error_code: z.literal(0),
      }),
    },
    failures: ['clientNotAllowed', 'notFound'],
  },
  'create-batch': {
    method: 'POST',
    path: '/batches',
    summary: 'Submit a batch of 1 to 1000 messages',
    description:
      'Everything is checked before anything is stored; an error names the request and the field. The body may have 6 MB, the limit of the platform.',
    rateClass: 'batches',
    transfer: 'buffered',
    timeoutSeconds: 29,
    parameters: none,
    query: none,
    headers: idempotencyHeaders,
    body: createBatchBody,
    success: { status: 202, envelope: envelopeOf(batch) },
    failures: ['clientNotAllowed'],
  },
  'list-batches': {
    method: 'GET',
    path: '/batches',
    summary: 'List batches, newest first',
    rateClass: 'reads',
    transfer: 'streamed',
    timeoutSeconds: 29,
    parameters: none,
    query: listBatchesQuery,
    headers: none,
    body: noBody,
    success: { status: 200, envelope: listEnvelopeOf(batch) },
    failures: [],
  },
  'get-batch': {
    method: 'GET',
    path: '/batches/{batch_id}',
    summary: 'Read the status of a batch',
    rateClass: 'reads',
    transfer: 'buffered',
    timeoutSeconds: 29,
    parameters: batchPath,
    query: none,
    headers: none,
    body: noBody,
    success: { status: 200, envelope: envelopeOf(batch) },
    failures: ['notFound'],
  },
  'list-batch-results': {
    method: 'GET',
    path: '/batches/{batch_id}/results',
    summary: 'Read the results of a batch, in input order',
    rateClass: 'reads',
    transfer: 'streamed',
    timeoutSeconds: 180,
    parameters: batchPath,
    query: listBatchResultsQuery,
    headers: none,
    body: noBody,
    success: { status: 200, envelope: listEnvelopeOf(batchResult) },
    failures: ['notFound'],
  },
  'cancel-batch': {
    method: 'POST',
    path: '/batches/{batch_id}/cancel',
    summary: 'Cancel a batch that is in progress',
    rateClass: 'writes',
    transfer: 'buffered',
    timeoutSeconds: 29,
    parameters: batchPath,
    query: none,
    headers: none,
    body: noBody,
    success: { status: 202, envelope: envelopeOf(batch) },
    failures: ['notFound'],
  },
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof routes;
