import * as z from 'zod';
import type { ErrorKind } from '#contract/errors.ts';
import { externalUserId, idParameter, uuid } from '#contract/fields.ts';
import type { RequestClass } from '../rate-limits.ts';
import type { Dialect } from './dialect.ts';

export type RouteTag = 'Agents' | 'Chats' | 'Messages' | 'Files' | 'Feedback' | 'Batches' | 'Users';

/**
 * The request side of a route. Each capability has its own file of routes, so that a function creates only the schemas
 * of its capability. Responses are in `routes.ts`.
 */
export interface Route {
  /** Its key in `routes`, and the name of its function's file. */
  name: string;
  /** `ANY`: every method that no other route of the path has. */
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'ANY';
  /** Relative to the base address. */
  path: string;
  /** Other paths of the same route, with the same parameters. */
  aliases?: readonly string[];
  /** The interface that the route belongs to: by default the service's own. */
  dialect?: Dialect;
  summary: string;
  description?: string;
  /** The group of operations that a documented route belongs to, in docs/openapi.json and in generated clients. */
  tag?: RouteTag;
  /** The class of its requests: each takes a token of this class. */
  rateClass: RequestClass;
  /**
   * `buffered`: one payload of at most 6 MB. `streamed`: written in chunks, at most 200 MB in AWS. A route is streamed
   * if its response can exceed 6 MB, or is sent while it is made.
   */
  transfer: 'buffered' | 'streamed';
  /** The timeout of the route's Lambda function, in seconds. The gateway ends a buffered route after 29 s. */
  timeoutSeconds: number;
  parameters: z.ZodObject;
  query: z.ZodObject;
  headers: z.ZodObject;
  body: z.ZodType;
  /** The limits of a JSON body; by default `shortBody`. A form has limits of its own. */
  largestBody?: LargestBody;
  /** The body is multipart/form-data instead of JSON. */
  multipart?: true;
  /** A request without a body counts as one with the body `{}`. */
  hasOptionalBody?: true;
  /** HTTP status of success. */
  status: 200 | 202;
  /** HTTP status of success if the work goes on after the response. */
  acceptedStatus?: 202;
  /** Kinds of failures in addition to those of every route. */
  failures: readonly ErrorKind[];
  /** Whether the response is a server-sent event stream of `streamEvent`. */
  serverSentEvents?: 'sometimes' | 'always';
}

/** What a JSON body may have at most: what its schema can need, with room for fields that clients add. */
export interface LargestBody {
  bytes: number;
  /** Fields and elements together, on all levels. */
  values: number;
}

/**
 * For bodies that need about 1,000 characters of text at most: 12 KB if each is written as two escapes of six bytes.
 */
export const shortBody: LargestBody = { bytes: 64 * 1024, values: 1000 };

/**
 * A Lambda function accepts no larger event. A batch of a thousand requests with 50 files each has about 58,000 values.
 */
export const longBody: LargestBody = { bytes: 6 * 1024 * 1024, values: 60_000 };

/** All paths of a route. */
export const pathsOf = ({ path, aliases = [] }: Pick<Route, 'path' | 'aliases'>): readonly string[] => [
  path,
  ...aliases,
];

/** Whether requests of the route may have a body: those with POST or PATCH. In other requests, a body is ignored. */
export const hasBody = ({ method }: Pick<Route, 'method'>): boolean =>
  method === 'POST' || method === 'PATCH';

const nothing = z.object({});
export const noBody = z.unknown();

/** What most routes have. Each route starts with it. */
export const defaults = {
  transfer: 'buffered',
  /** The gateway ends a buffered route after this time. */
  timeoutSeconds: 29,
  parameters: nothing,
  query: nothing,
  headers: nothing,
  body: noBody,
  status: 200,
  failures: [],
} as const;

/** What most routes that only read have. */
export const readDefaults = { ...defaults, method: 'GET', rateClass: 'reads' } as const;

export const batchPath = z.object({ batch_id: uuid });
export const chatPath = z.object({ chat_id: idParameter });

// The external user of a request without a body: in the query or in the header.
export const userQuery = z.object({ external_user_id: externalUserId.optional() });
export const userHeaders = z.object({ 'x-external-user-id': externalUserId.optional() });
