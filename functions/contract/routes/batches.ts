import * as z from 'zod';
import { batchResultStatuses, batchStatuses, webhookEvents } from '#contract/batch-statuses.ts';
import {
  chatName,
  externalUserId,
  idField,
  messageText,
  optional,
  text,
  uuid,
  withDefault,
} from '#contract/fields.ts';
import { idempotencyHeaders } from '#contract/headers.ts';
import { limits } from '#contract/limits.ts';
import { attachedFileUuids } from '#contract/message.ts';
import { metadata } from '#contract/metadata.ts';
import { cursorQuery, pageQuery } from '#contract/pagination.ts';
import { responseFormat } from '#contract/response-format.ts';
import { httpUrlForm, isHttpUrl, isPlainLoopbackUrl } from '#contract/urls.ts';
import { batchPath, defaults, longBody, type Route, readDefaults, writeDefaults } from './route.ts';

/** Specification, section 2.10. */
const batchRequest = z
  .object({
    custom_id: text(limits.customIdCharacters),
    message: messageText,
    agent_id: optional(uuid),
    external_user_id: optional(externalUserId),
    name: optional(chatName),
    attached_file_uuids: attachedFileUuids,
    history_id: optional(idField),
  })
  .meta({ id: 'BatchRequestItem' });

const hasCredentials = (url: string): boolean => /^[^/]*\/\/[^/?#]*@/.test(url);

/** Specification, section 2.11. */
const webhook = z
  .object({
    url: z
      .string()
      .max(limits.webhookUrlCharacters, {
        error: `must be at most ${limits.webhookUrlCharacters} characters`,
      })
      // The use case rejects plain http to loopback unless the stage allows it.
      .refine((value) => URL.parse(value)?.protocol === 'https:' || isPlainLoopbackUrl(value), {
        error: 'must be an https URL',
        abort: true,
      })
      .refine(isHttpUrl, { error: `must be written as ${httpUrlForm}`, abort: true })
      .refine((value) => !hasCredentials(value), {
        error: 'must be an https URL without a user name and password',
      })
      .meta({ format: 'uri' }),
    events: withDefault(
      z
        .array(z.enum(webhookEvents))
        .max(limits.webhookEvents, { error: `must have at most ${limits.webhookEvents} elements` }),
      ['completed', 'failed'],
    ).transform((events) => [...new Set(events)]),
    secret: optional(text(limits.webhookSecretCharacters)),
  })
  .meta({ id: 'WebhookConfiguration' });

export const createBatchBody = z
  .object({
    agent_id: uuid,
    requests: z
      .array(batchRequest)
      .min(1, { error: 'must have at least 1 element' })
      .max(limits.batchRequests, { error: `must have at most ${limits.batchRequests} elements` }),
    webhook: optional(webhook),
    metadata: optional(metadata),
    response_format: optional(responseFormat),
  })
  .meta({ id: 'CreateBatchRequest' });

export type CreateBatchBody = z.infer<typeof createBatchBody>;

export const createBatchRoute = {
  ...defaults,
  name: 'create-batch',
  method: 'POST',
  path: '/batches',
  summary: 'Submit a batch of 1 to 1000 messages',
  description:
    'The whole batch is checked before anything is stored. An error names the request and the field.',
  tag: 'Batches',
  rateClass: 'batches',
  headers: idempotencyHeaders,
  body: createBatchBody,
  largestBody: longBody,
  status: 202,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;

export const getBatchRoute = {
  ...readDefaults,
  name: 'get-batch',
  path: '/batches/{batch_id}',
  summary: 'Read the status of a batch',
  tag: 'Batches',
  parameters: batchPath,
  failures: ['notFound'],
} as const satisfies Route;

export const listBatchesRoute = {
  ...readDefaults,
  name: 'list-batches',
  path: '/batches',
  summary: 'List batches, newest first',
  tag: 'Batches',
  transfer: 'streamed',
  query: cursorQuery.extend({ status: z.enum(batchStatuses).optional() }),
} as const satisfies Route;

export const listBatchResultsRoute = {
  ...readDefaults,
  name: 'list-batch-results',
  path: '/batches/{batch_id}/results',
  summary: 'Read the results of a batch, in input order',
  tag: 'Batches',
  transfer: 'streamed',
  timeoutSeconds: 180,
  parameters: batchPath,
  query: pageQuery.extend({ status: z.enum(batchResultStatuses).optional() }),
  failures: ['notFound'],
} as const satisfies Route;

export const cancelBatchRoute = {
  ...writeDefaults,
  name: 'cancel-batch',
  method: 'POST',
  path: '/batches/{batch_id}/cancel',
  summary: 'Cancel a batch that is in progress',
  tag: 'Batches',
  parameters: batchPath,
  status: 202,
  failures: ['notFound'],
} as const satisfies Route;
