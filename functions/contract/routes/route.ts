import * as z from 'zod';
import type { ErrorKind } from '#contract/errors.ts';
import { externalUserId, idParameter, uuid } from '#contract/fields.ts';
import type { RequestClass } from '../rate-limits.ts';
import type { Dialect } from './dialect.ts';

export type RouteTag = 'Agents' | 'Chats' | 'Messages' | 'Files' | 'Feedback' | 'Batches' | 'Users';

/** The routes are in several files, so that a function need not create the schemas of all. */
export interface Route {
  /** The key in `routes`, and the name of the function's file. */
  name: string;
  /** `ANY`: every method that no other route of the path has. */
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'ANY';
  path: string;
  aliases?: readonly string[];
  dialect?: Dialect;
  summary: string;
  description?: string;
  tag?: RouteTag;
  rateClass: RequestClass;
  /** A Lambda function returns a `buffered` response as one payload of at most 6 MB; it streams at most 200 MB. */
  transfer: 'buffered' | 'streamed';
  /** The gateway ends a buffered route after 29 s. */
  timeoutSeconds: number;
  parameters: z.ZodObject;
  query: z.ZodObject;
  headers: z.ZodObject;
  body: z.ZodType;
  /** By default `shortBody`. */
  largestBody?: LargestBody;
  multipart?: true;
  hasOptionalBody?: true;
  status: 200 | 202;
  /** Instead of `status`, if the work goes on after the response. */
  acceptedStatus?: 202;
  /** In addition to those of every route. */
  failures: readonly ErrorKind[];
  serverSentEvents?: 'sometimes' | 'always';
}

export interface LargestBody {
  bytes: number;
  /** As `parseJson` counts them. */
  values: number;
}

/** For bodies that need about 1,000 characters of text: 12 KB if each is written as two escapes of six bytes. */
export const shortBody: LargestBody = { bytes: 64 * 1024, values: 1000 };

/** Lambda's limit. A batch of a thousand requests with 50 files each has about 58,000 values. */
export const longBody: LargestBody = { bytes: 6 * 1024 * 1024, values: 60_000 };

export const pathsOf = ({ path, aliases = [] }: Pick<Route, 'path' | 'aliases'>): readonly string[] => [
  path,
  ...aliases,
];

export const hasBody = ({ method }: Pick<Route, 'method'>): boolean =>
  method === 'POST' || method === 'PATCH';

const nothing = z.object({});
export const noBody = z.unknown();

export const defaults = {
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: nothing,
  query: nothing,
  headers: nothing,
  body: noBody,
  status: 200,
  failures: [],
} as const;

export const readDefaults = { ...defaults, method: 'GET', rateClass: 'reads' } as const;
export const writeDefaults = { ...defaults, rateClass: 'writes' } as const;

export const batchPath = z.object({ batch_id: uuid });
export const chatPath = z.object({ chat_id: idParameter });

// For requests without a body.
export const userQuery = z.object({ external_user_id: externalUserId.optional() });
export const userHeaders = z.object({ 'x-external-user-id': externalUserId.optional() });
