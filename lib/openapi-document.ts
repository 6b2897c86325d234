import * as z from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiRequestBodyObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { webhookPayload } from '#contract/batch.ts';
import { type ErrorKind, errorTable, replyInProgress } from '#contract/errors.ts';
import { streamEvent } from '#contract/events.ts';
import { replayedHeader, replyHeaders } from '#contract/headers.ts';
import { bytesInWords, limits, platformLimits } from '#contract/limits.ts';
import {
  formatRateLimit,
  furtherTokens,
  limitName,
  type RateClass,
  requestClasses,
} from '#contract/rate-limits.ts';
import { hasBody, noBody, shortBody } from '#contract/routes/route.ts';
import {
  documentedRoutes,
  errorEnvelope,
  type Route,
  type RouteName,
  responses,
  uploadErrorEnvelope,
} from '#contract/routes.ts';
import { deniedPorts } from '#contract/urls.ts';
import { camelCase } from './function-names.ts';
import {
  batchItemSeconds,
  gatewayBurst,
  replyLimits,
  webhookRetrySeconds,
  webhookTimeoutSeconds,
} from './limits.ts';
import { describeDocument } from './openapi/describe-document.ts';
import {
  accessDeniedExample,
  failedUploadExample,
  failureExamples,
  requestExamples,
  responseExampleOf,
  webhookExample,
} from './openapi/examples.ts';
import { normalizeSchema } from './openapi/normalize-schemas.ts';
import { tags } from './openapi/tags.ts';
import { parseSettings } from './settings.ts';

type OpenApiDocument = ReturnType<typeof createDocument>;

const settings = parseSettings({});

const count = (value: number | null): string => value?.toLocaleString('en') ?? 'any number of';

/** docs/limits.md repeats these sentences, and a test compares them. */
const everyRequest = [
  `Address and headers have at most ${platformLimits.addressAndHeaders} together, a JSON body at most ${platformLimits.jsonBody}.`,
  `A JSON body has at most ${limits.bodyLevels} objects and arrays in each other.`,
  'Bytes that are not UTF-8 become U+FFFD in a JSON body and in the query. In the names and the `data` of an upload, they are rejected.',
  '`HEAD` is no method of any path: it gets 404.',
  'An optional field of a JSON body may be null, which means the same as a missing field.',
  `A response has at most ${platformLimits.response}: a larger page of a list is cut off.`,
  `A stage takes at most ${count(settings.gatewayRequestsPerSecond)} requests a second of each route, ${count(gatewayBurst(settings))} at once.`,
  'Responses of CloudFront itself (413 to an address of more than 8,192 bytes, 502, 503, 504, and 403 to a method such as TRACE), of Lambda itself (429, 502, 504), and to malformed HTTP (400, 431) have no envelope.',
  'With the stage setting `corsOrigins`, responses have CORS headers, and `OPTIONS` needs no key.',
  'Rates, open batches, the time of a batch and the time without a piece of a reply are settings: a stage may have others.',
];

const limitsOfRoute: Partial<Record<RouteName, string[]>> = {
  'create-chat': [`A workspace has at most ${count(limits.chatsOfWorkspace)} chats.`],
  'send-message': [
    `A chat has at most ${count(limits.messagesOfChat)} messages, and one reply at a time.`,
    `A reply takes at most ${limits.replySeconds} seconds as a stream, ${replyLimits.plainReplySeconds} seconds as JSON.`,
    `A reply fails when its model sends nothing for ${settings.streamTimeoutSeconds} seconds: no text, no reasoning, and no piece of a tool call.`,
    `A reply has at most ${count(replyLimits.replyBytes)} bytes of text, and makes at most ${replyLimits.replyModelCalls} calls of models and ${replyLimits.replyToolUses} uses of tools.`,
    `A stream ends with response.error when ${count(limits.unreadStreamCharacters)} characters wait for its reader.`,
  ],
  'resume-stream': [
    `A response takes at most ${limits.resumedSeconds} seconds: a stream that has ended without \`[DONE]\` can be resumed once more.`,
  ],
  'create-batch': [
    `The port of the webhook may be none of other protocols: ${deniedPorts.join(', ')}.`,
    'An agent that does not exist, or has no published version, gets 400 and not 404: the error names the field.',
    `A workspace has at most ${count(settings.rateLimits.openBatches)} open batches.`,
    `Requests that have not started after ${settings.batchTimeoutSeconds / 3600} hours time out; the reply to one takes at most ${batchItemSeconds} seconds, and one that breaks off or stalls is retried twice.`,
  ],
};

const failuresOfEveryRoute: readonly ErrorKind[] = [
  'unauthenticated',
  'badRequest',
  'accessDenied',
  'notFound',
  'rateLimited',
  'serverError',
];

const header = (type: 'integer' | 'string', description: string, schema: object = {}) => ({
  description,
  schema: { type, ...schema },
});

const rateHeaders = {
  'x-ratelimit-limit': header(
    'integer',
    `How many requests of its class a key may make at once. A workspace has limits of its own, or ${requestClasses.map((name) => `${name} ${formatRateLimit(settings.rateLimits[name])}`).join(', ')}. On a 429 for what requests use, such as model calls: how many of these.`,
    { minimum: 1 },
  ),
  'x-ratelimit-remaining': header('integer', 'How many requests it may still make now, after this one.', {
    minimum: 0,
  }),
  'x-ratelimit-reset': header(
    'integer',
    'Whole seconds until it may make all of them again, if it makes none before. A duration, not a time.',
    { minimum: 0 },
  ),
};

const eventStream = `One \`data:\` line of JSON for each event, in the order of \`sequence_number\`.
After the last event comes the line \`data: [DONE]\`, which is not JSON. An addition: lines that start with \`:\` are comments, which keep the connection open.`;

/** Specification, section 6.2. */
const batchEnded: ZodOpenApiOperationObject = {
  operationId: 'batchEnded',
  tags: ['Batches'],
  // Without this mark, generators of clients may make a method that calls the service itself.
  'x-internal': true,
  summary: 'Report the end of a batch',
  description: `Sent to the \`webhook\` of a batch until the receiver responds with a 2xx within ${webhookTimeoutSeconds} seconds, at most ${webhookRetrySeconds.length + 1} times; see docs/webhooks.md.`,
  security: [],
  requestParams: {
    header: z.object({
      'x-service-event-id': z.string(),
      'webhook-id': z.string(),
      'webhook-timestamp': z.string(),
      'webhook-signature': z.string().optional(),
      'x-service-timestamp': z.string().optional(),
      'x-service-signature': z.string().optional(),
    }),
  },
  requestBody: { required: true, content: json(webhookPayload, webhookExample) },
  responses: {
    '2XX': { description: 'The event has arrived.' },
    '410': { description: 'The event is not wanted any more.' },
  },
};

export function openApiDocument(version: string): OpenApiDocument {
  const document = createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Chat and batch agent service',
      version,
      summary: 'Lets API clients talk to published AI agents.',
      description: everyRequest.map((sentence) => `- ${sentence}`).join('\n'),
      contact: { name: 'The operator of the service' },
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    // The address has no host, because a client without a base address must not send its key to anybody.
    servers: [
      {
        url: '/api/v1',
        description:
          'The base address of a stage: the output BaseAddress of its stack, which ends in /api/v1.',
      },
    ],
    tags: tags.map((tag) => ({ ...tag })),
    security: [{ apiKey: [] }],
    paths: paths(),
    webhooks: { 'batch-ended': { post: batchEnded } },
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The API key of a workspace.',
        },
      },
      headers: {
        'x-request-id': {
          description: 'Names the request in the logs of the service.',
          required: true,
          schema: { type: 'string' },
        },
        [replayedHeader.toLowerCase()]: header(
          'string',
          '`true` on a replayed response: an earlier request with the same key did the work.',
          { enum: ['true'] },
        ),
        [replyHeaders.messageId]: header('integer', 'For a JSON reply: the id of the reply in the history.'),
        [replyHeaders.responseId]: header(
          'string',
          'For a JSON reply: `response_id`, as in the events of a stream.',
        ),
        [replyHeaders.tokenUsage]: header(
          'string',
          'For a JSON reply: `token_usage` of the message, as JSON.',
          { contentMediaType: 'application/json' },
        ),
        [replyHeaders.incomplete]: header(
          'string',
          'For a JSON reply: `incomplete`, with the value of the completed event.',
        ),
        'retry-after': {
          description: 'Whole seconds to wait before the same request is made again.',
          required: true,
          schema: { type: 'integer', minimum: 1 },
        },
        ...rateHeaders,
      },
    },
  });
  return describeDocument(JSON.parse(JSON.stringify(document), normalizeSchema) as OpenApiDocument);
}

function paths(): Record<string, Record<string, ZodOpenApiOperationObject>> {
  const byPath: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of documentedRoutes)
    byPath[route.path] = {
      ...byPath[route.path],
      [route.method.toLowerCase()]: operation(route),
    };
  return byPath;
}

const rateClassesOf = ({ rateClass }: Route): string =>
  [rateClass, ...(Object.keys(furtherTokens[rateClass]) as RateClass[])]
    .map((name) => limitName(name, ' '))
    .join(', ');

function operation(route: Route): ZodOpenApiOperationObject {
  return {
    operationId: camelCase(route.name),
    tags: route.tag === undefined ? [] : [route.tag],
    summary: route.summary,
    description: [
      route.description,
      ...(limitsOfRoute[route.name] ?? []),
      ...limitsOfBody(route),
      `Rate limit: ${rateClassesOf(route)}.`,
    ]
      .filter(Boolean)
      .join(' '),
    requestParams: { path: route.parameters, query: route.query, header: route.headers },
    ...(hasBody(route) && route.body !== noBody && { requestBody: requestBody(route) }),
    responses: {
      [route.status]: successResponse(route),
      ...(route.acceptedStatus !== undefined && { [route.acceptedStatus]: successResponse(route) }),
      ...failureResponses(route),
    },
  };
}

function limitsOfBody(route: Route): string[] {
  if (!hasBody(route) || route.body === noBody || route.multipart) return [];
  const { bytes, values } = route.largestBody ?? shortBody;
  return [`The body has at most ${bytesInWords(bytes)} and ${count(values)} fields and elements.`];
}

const retryAfterBusyChat = header('integer', `Whole seconds; only of \`${replyInProgress().message}\`.`, {
  minimum: 1,
});

const headerReferences = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
const headersOfEveryResponse = headerReferences('x-request-id', ...Object.keys(rateHeaders));

function json(schema: z.ZodType, example: unknown) {
  return { 'application/json': { schema, example } };
}

function requestBody(route: Route): ZodOpenApiRequestBodyObject {
  const { [route.name]: example }: Partial<Record<RouteName, unknown>> = requestExamples;
  const encoding = { data: { contentType: 'application/json' } };
  return {
    required: route.hasOptionalBody !== true,
    content: route.multipart
      ? { 'multipart/form-data': { schema: route.body, encoding } }
      : json(route.body, example),
  };
}

function failureContent({ multipart, failures }: Route, status: number) {
  if (multipart && status === errorTable.badRequest.status)
    return json(uploadErrorEnvelope, failedUploadExample);
  const isDenied = status === errorTable.clientNotAllowed.status && !failures.includes('clientNotAllowed');
  return json(errorEnvelope, isDenied ? accessDeniedExample : failureExamples[status]);
}

function successResponse(route: Route) {
  return {
    description: route.serverSentEvents
      ? `The response. ${route.serverSentEvents === 'always' ? 'A stream' : 'As a stream'} of events: ${eventStream}`
      : 'The response',
    headers: {
      ...headersOfEveryResponse,
      ...('idempotency-key' in route.headers.shape && headerReferences(replayedHeader.toLowerCase())),
      ...(route.serverSentEvents === 'sometimes' && headerReferences(...Object.values(replyHeaders))),
    },
    content: {
      ...(route.serverSentEvents !== 'always' && json(responses[route.name], responseExampleOf(route.name))),
      ...(route.serverSentEvents && { 'text/event-stream': { schema: streamEvent } }),
    },
  };
}

function failureResponses(route: Route): ZodOpenApiResponsesObject {
  const kinds = [...new Set([...failuresOfEveryRoute, ...route.failures])].map((kind) => errorTable[kind]);
  const responses: ZodOpenApiResponsesObject = {};
  const isReply = route.serverSentEvents === 'sometimes';
  const { messageId, responseId, tokenUsage } = replyHeaders;
  for (const [status, errors] of Map.groupBy(kinds, (error) => error.status))
    responses[`${status}` as `${1 | 2 | 3 | 4 | 5}${string}`] = {
      description: errors.map((error) => `${error.errorCode} ${error.name}`).join(', '),
      headers: {
        ...headersOfEveryResponse,
        ...(status === errorTable.rateLimited.status && headerReferences('retry-after')),
        // The response of a failed reply has the reply's headers, because the reply is in the history too.
        ...(isReply &&
          status === errorTable.serverError.status &&
          headerReferences(replayedHeader.toLowerCase(), messageId, responseId, tokenUsage)),
        ...(isReply && status === errorTable.badRequest.status && { 'retry-after': retryAfterBusyChat }),
      },
      content: failureContent(route, status),
    };
  return responses;
}
