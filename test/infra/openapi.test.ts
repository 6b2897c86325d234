import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { hasBody } from '#contract/routes/route.ts';
import { documentedRoutes } from '#contract/routes.ts';
import { openApiDocument } from '#lib/openapi-document.ts';

const document = openApiDocument('1.0.0');
const servedByWebFunctions: readonly string[] = [
  'create-chat',
  'resume-stream',
  'send-message',
  'upload-file',
];

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate({ ...document });
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(validator.version).toBe('3.1');
});

test('the committed file is what the route table says', () => {
  const run = spawnSync(process.execPath, ['bin/openapi.ts', '--check'], {
    cwd: join(import.meta.dirname, '..', '..'),
    encoding: 'utf8',
  });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
});

test('the document has the operations of the route table and no other', () => {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const expected = documentedRoutes.map(({ method, path }) => `${method} ${path}`);
  expect(operations.toSorted()).toEqual(expected.toSorted());
});

describe.each(documentedRoutes.map((route) => [route.name, route] as const))('%s', (_name, route) => {
  const operation = document.paths?.[route.path]?.[route.method.toLowerCase() as 'get'];

  test('tells every parameter, and the body when there is one', () => {
    const names = [route.parameters, route.query, route.headers].flatMap(({ shape }) => Object.keys(shape));
    expect((operation?.parameters ?? []).map((parameter) => 'name' in parameter && parameter.name)).toEqual(
      names,
    );
    expect(operation?.requestBody !== undefined).toBe(hasBody(route));
  });

  test('tells how it succeeds and how every route may fail', () => {
    expect(Object.keys(operation?.responses ?? {})).toEqual([
      String(route.status),
      ...('acceptedStatus' in route ? [String(route.acceptedStatus)] : []),
      '400',
      '403',
      '404',
      '429',
      '500',
      // Only a web function responds with it, and only four routes have one.
      ...(servedByWebFunctions.includes(route.name) ? ['503'] : []),
    ]);
  });
});

test('a reply may be a stream of events that ends with [DONE]', () => {
  const response = document.paths?.['/chats/{chat_id}/messages']?.post?.responses?.['200'];
  expect(response).toMatchObject({
    description: expect.stringContaining('data: [DONE]'),
    content: { 'text/event-stream': { schema: { $ref: '#/components/schemas/StreamEvent' } } },
  });
});

test('what the contract names is a component', () => {
  expect(Object.keys(document.components?.schemas ?? {}).toSorted()).toEqual([
    'Agent',
    'AttachedFileUuids',
    'Batch',
    'BatchResult',
    'Chat',
    'ChatName',
    'DeletedChat',
    'ErasedUser',
    'Error',
    'ExternalUserId',
    'Message',
    'MessageText',
    'Pagination',
    'ReasoningStep',
    'StoppedReply',
    'StreamEvent',
    'TokenUsage',
    'UploadedFile',
  ]);
});

test('the call that a webhook gets is told too', () => {
  const { post } = document.webhooks?.['batch-ended'] ?? {};
  expect(post).toMatchObject({
    operationId: 'batchEnded',
    security: [],
    requestBody: {
      content: {
        'application/json': {
          schema: { properties: { event: { enum: ['batch.completed', 'batch.failed', 'batch.cancelled'] } } },
        },
      },
    },
  });
});
