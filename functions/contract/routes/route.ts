import * as z from 'zod';
import type { ErrorKind } from '../errors.ts';
import { idParameter, uuid } from '../fields.ts';
import type { RateClass } from '../rate-limits.ts';

export type RouteName =
  | 'list-published-agents'
  | 'create-chat'
  | 'list-chats'
  | 'list-messages'
  | 'send-message'
  | 'upload-file'
  | 'record-feedback'
  | 'create-batch'
  | 'list-batches'
  | 'get-batch'
  | 'list-batch-results'
  | 'cancel-batch';

/**
 * A route of the interface, as a request sees it: the gateway, the handlers, the OpenAPI document and the tests are made
 * from it. Each stands in a file of its own, so that a function makes the schemas of its own requests alone; what a route
 * answers is in `responses.ts`.
 */
export interface Route {
  name: RouteName;
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
  /** Of success. */
  status: 200 | 202;
  /** Kinds of failure besides those that every route has. */
  failures: readonly ErrorKind[];
  /** The answer may also be a server-sent event stream of `streamEvent`. */
  serverSentEvents?: true;
}

export const nothing = z.object({});
export const noBody = z.unknown();
export const batchPath = z.object({ batch_id: uuid });
export const chatPath = z.object({ chat_id: idParameter });
