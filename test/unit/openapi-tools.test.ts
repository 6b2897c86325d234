import { describe, expect, it } from 'vitest';
import { httpApiConfig } from '#contract/http-api.ts';
import { startWebServer } from '#support/tool-use.ts';
import { importOpenApi, type WrittenConfig } from '../../bin/agentctl/openapi/import-openapi.ts';

const info = { title: 'Shop', version: '1' };
const responses = { 200: { description: 'ok' } };

interface Document {
  openapi?: string;
  paths?: object;
  [field: string]: unknown;
}

const convert = (document: Document, options: object = {}) =>
  convertText(JSON.stringify({ openapi: '3.0.3', info, paths: {}, ...document }), options);

async function convertText(text: string, { entry, ...options }: { entry?: object; name?: string } = {}) {
  const written = entry && { base_url: 'https://api.shop.example', ...entry };
  const imported = importOpenApi(
    text,
    'https://api.shop.example/openapi.json',
    { name: 'shop', ...options },
    written as never,
  );
  const { config, changes } = await imported;
  const skipped = changes.filter(({ state }) => state === 'skipped');
  return { ...config, skipped, tools: changes.flatMap(({ after }) => after ?? []) };
}

/** The tool of a document with one operation. */
async function toolOf(operation: object, document: Document = {}, path = '/orders', method = 'post') {
  const paths = { [path]: { [method]: { operationId: 'op', responses, ...operation } } };
  const { tools, skipped } = await convert({ ...document, paths });
  return tools[0] ?? skipped[0]?.notes[0];
}

const bodyOf = async (schema: object, document: Document = {}): Promise<unknown> => {
  const tool = await toolOf({ requestBody: { content: { 'application/json': { schema } } } }, document);
  return typeof tool === 'object' ? Object(tool.input_schema.properties).body : tool;
};

const query = (name: string, schema: object = { type: 'string' }, more: object = {}) => ({
  ...{ name, in: 'query', schema },
  ...more,
});

const pathId = { name: 'id', in: 'path', required: true };

describe('an operation', () => {
  it('is a tool with its parameters and body as arguments', async () => {
    const id = { ...pathId, schema: { type: 'integer' }, description: 'The order' };
    const expand = query('expand', { type: 'array', items: { type: 'string' } }, { explode: false });
    const content = {
      'application/json': { schema: { type: 'object', properties: { note: { type: 'string' } } } },
    };
    const { tools, base_url } = await convert({
      servers: [{ url: 'https://api.{zone}.example/v2/', variables: { zone: { default: 'shop' } } }],
      paths: {
        '/orders/{id}': {
          parameters: [id],
          get: { operationId: 'orders.get', summary: 'Read an order.', parameters: [expand], responses },
          put: {
            summary: 'Change',
            description: 'an order.',
            requestBody: { required: true, content },
            responses,
          },
        },
      },
    });
    expect(base_url).toBe('https://api.shop.example/v2');
    const ofId = { argument: 'id', name: 'id', in: 'path' };
    const integer = { type: 'integer', description: 'The order' };
    expect(tools).toEqual([
      {
        ...{
          name: 'shop_orders_get',
          description: 'Read an order.',
          approval: 'never',
          method: 'GET',
          path: '/orders/{id}',
        },
        parameters: [ofId, { argument: 'expand', name: 'expand', in: 'query', explode: false }],
        body: null,
        input_schema: {
          type: 'object',
          properties: { id: integer, expand: { type: 'array', items: { type: 'string' } } },
          ...{ required: ['id'], additionalProperties: false },
        },
      },
      {
        ...{ name: 'shop_put_orders_id_', description: 'Change\n\nan order.', approval: 'always' },
        ...{ method: 'PUT', path: '/orders/{id}', parameters: [ofId] },
        body: { argument: 'body', content_type: 'application/json' },
        input_schema: {
          type: 'object',
          properties: { id: integer, body: { type: 'object', properties: { note: { type: 'string' } } } },
          ...{ required: ['id', 'body'], additionalProperties: false },
        },
      },
    ]);
  });

  it('has arguments of its own if others have the same name', async () => {
    const id = { ...pathId, schema: { type: 'string' } };
    const tool = await toolOf(
      {
        parameters: [id, query('id'), query('filter[id]'), query('body')],
        requestBody: { content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } } },
      },
      {},
      '/{id}',
    );
    expect(tool).toMatchObject({
      parameters: [
        { argument: 'id', in: 'path' },
        { argument: 'id_2', in: 'query', name: 'id' },
        { argument: 'filter_id_', name: 'filter[id]' },
        { argument: 'body', in: 'query' },
      ],
      body: { argument: 'body_2', content_type: 'application/x-www-form-urlencoded' },
    });
  });

  it('needs an entry of a list that is required, because an empty one is not sent', async () => {
    const list = { type: 'array', items: {} };
    const withAny = { ...list, minItems: 0 };
    const tool = await toolOf({
      parameters: [
        query('a', list, { required: true }),
        query('b', list),
        query('c', withAny, { required: true }),
      ],
    });
    expect(tool).toMatchObject({
      input_schema: { properties: { a: { minItems: 1 }, b: list, c: { minItems: 1 } } },
    });
    expect(tool).not.toMatchObject({ input_schema: { properties: { b: { minItems: 1 } } } });
  });

  it('is the same, whatever the order in the document', async () => {
    const one = { '/a': { get: { responses } }, '/b': { get: { responses } } };
    const other = { '/b': { get: { responses } }, '/a': { get: { responses } } };
    expect((await convert({ paths: one })).tools).toEqual((await convert({ paths: other })).tools);
  });

  it('has no headers that the entry has, or that a model must not choose', async () => {
    const header = (name: string, required = false) => ({ ...query(name), in: 'header', required });
    const names = ['Authorization', 'X-Api-Key', 'X-Tenant', 'Accept-Language', 'X-Trace'];
    const paths = {
      '/a': { get: { operationId: 'a', parameters: names.map((name) => header(name)), responses } },
    };
    const [tool] = (await convert({ paths })).tools;
    const pinned = { ...tool, parameters: [], input_schema: { type: 'object', properties: {} } };
    const { tools } = await convert({ paths }, { entry: { headers: { 'X-Tenant': '7' }, tools: [pinned] } });
    expect(tools[0]?.parameters.map(({ name }) => name)).toEqual(['X-Trace']);
    expect(await toolOf({ parameters: [header('X-Api-Key', true)] })).toBe(
      'parameters[0].name may be secret: put its value into a secret',
    );
  });

  const ofBody = (type: string) => ({ requestBody: { content: { [type]: { schema: {} } } } });
  it.each<[reason: string, operation: object, path?: string, method?: string]>([
    ['its body is multipart/form-data', ofBody('multipart/form-data')],
    ['it has the cookie session', { parameters: [{ ...query('session'), in: 'cookie' }] }],
    ['it has a server of its own', { servers: [{ url: 'https://other.example' }] }],
    ['a has the type text/xml', { parameters: [{ name: 'a', in: 'query', content: { 'text/xml': {} } }] }],
    ['description has the hidden character U+200B', { description: 'Read\u200b' }],
    ['path must have the parameters of the path in braces: none', {}, '/orders/{id}'],
    ['id has the style matrix', { parameters: [{ ...pathId, style: 'matrix', schema: {} }] }, '/{id}'],
    ['method must be one of GET, POST, PUT, PATCH, DELETE', {}, '/orders', 'head'],
  ])('is skipped: %s', async (reason, operation, path, method) => {
    expect(await toolOf(operation, {}, path, method)).toBe(reason);
  });
});

describe('a schema', () => {
  it('with a keyword that arguments cannot be checked by is no tool', async () => {
    expect(await bodyOf({ if: {} }, { openapi: '3.1.0' })).toBe(
      'input_schema at #/properties/body/if is not supported',
    );
  });

  it('has no references, and a reference to a schema around it accepts anything', async () => {
    const Node = {
      type: 'object',
      properties: {
        name: { $ref: '#/components/schemas/Na~1me' },
        next: { $ref: '#/components/schemas/Node' },
      },
    };
    const components = { schemas: { Node, 'Na/me': { type: 'string' } } };
    const node = { type: 'object', properties: { name: { type: 'string' }, next: {} } };
    expect(await bodyOf({ $ref: '#/components/schemas/Node' }, { components })).toEqual(node);
  });

  it('of OpenAPI 3.0 is JSON Schema, with the pattern for the model', async () => {
    const schema = {
      type: 'object',
      required: ['id', 'age'],
      properties: {
        id: { type: 'integer', readOnly: true },
        age: {
          type: 'integer',
          nullable: true,
          minimum: 0,
          exclusiveMinimum: true,
          maximum: 9,
          exclusiveMaximum: false,
        },
        code: { type: 'string', pattern: '^[a-z]+$', example: 'abc', xml: { name: 'c' }, 'x-internal': true },
      },
    };
    expect(await bodyOf(schema)).toEqual({
      type: 'object',
      required: ['age'],
      properties: {
        age: { type: ['integer', 'null'], exclusiveMinimum: 0, maximum: 9 },
        code: { type: 'string', pattern: '^[a-z]+$', examples: ['abc'] },
      },
    });
  });

  it('of OpenAPI 3.1 has what is next to a reference', async () => {
    const document = { openapi: '3.1.0', components: { schemas: { Id: { type: 'integer', title: 'Id' } } } };
    const $ref = '#/components/schemas/Id';
    expect(await bodyOf({ $ref, description: 'Of an order' }, document)).toEqual({
      ...{ type: 'integer', title: 'Id', description: 'Of an order' },
    });
    expect(await bodyOf({ $ref, title: 'Order' }, document)).toEqual({
      allOf: [{ type: 'integer', title: 'Id' }, { title: 'Order' }],
    });
    expect(await bodyOf({ $ref, minimum: 1 }, { ...document, openapi: '3.0.0' })).toEqual({
      ...{ type: 'integer', title: 'Id' },
    });
  });

  it('that unfolds without end is no tool', async () => {
    const level = (index: number) => {
      const $ref = `#/components/schemas/S${index + 1}`;
      return { type: 'object', properties: { a: { $ref }, b: { $ref } } };
    };
    const schemas = Object.fromEntries(Array.from({ length: 19 }, (_, index) => [`S${index}`, level(index)]));
    const document = { components: { schemas: { ...schemas, S19: {} } } };
    expect(await bodyOf({ $ref: '#/components/schemas/S0' }, document)).toBe('it has more than 2000 schemas');
  });
});

describe('a document', () => {
  it('that refers to another one is rejected, without a request', async () => {
    const other = await startWebServer((_request, response) => response.end('{"type":"string"}'));
    for (const $ref of [import.meta.url, './package.json', `${other.url}/x`]) {
      const paths = { '/a': { get: { parameters: [query('a', { $ref })], responses } } };
      await expect(convert({ paths })).rejects.toThrow(
        `Can't resolve ${$ref}, only internal refs are supported.`,
      );
    }
    expect(other.received).toEqual([]);
    await other.close();
  });

  it.each([
    [{ extra: 7 }, 'is not a valid OpenAPI document: it must NOT have additional properties'],
    [{ openapi: '3.2.0' }, 'is OpenAPI 3.2, and must be 3.0 or 3.1'],
  ])('%j is rejected', async (document, message) => {
    await expect(convert(document as Document)).rejects.toThrow(message);
  });

  it('with a path that leads back to itself has the other paths', async () => {
    const paths = { '/a': { $ref: '#/paths/~1a' }, '/b': { get: { operationId: 'b', responses } } };
    const { tools, skipped } = await convert({ paths });
    expect(tools.map(({ name }) => name)).toEqual(['shop_b']);
    expect(skipped).toMatchObject([{ name: 'shop /a', notes: ['#/paths/~1a leads back to itself'] }]);
  });

  it('may be YAML', async () => {
    const text = 'openapi: 3.1.0\ninfo: {title: A, version: "1"}\npaths:\n  /a:\n    get: {operationId: a}';
    const { tools } = await convertText(text);
    expect(tools.map(({ name }) => name)).toEqual(['shop_a']);
  });

  it('says how requests prove who sends them', async () => {
    const authOf = async (scheme: object) =>
      (await convert({ components: { securitySchemes: { scheme } } }, { secret: 'shop' })).auth;
    expect(await authOf({ type: 'http', scheme: 'Bearer' })).toEqual({ type: 'bearer', secret: 'shop' });
    const ofHeader = { type: 'header', name: 'X-Key', prefix: '', secret: 'shop' };
    expect(await authOf({ type: 'apiKey', in: 'header', name: 'X-Key' })).toEqual(ofHeader);
    const ofQuery = { type: 'query', name: 'key', secret: 'shop' };
    expect(await authOf({ type: 'apiKey', in: 'query', name: 'key' })).toEqual(ofQuery);
    await expect(authOf({ type: 'http', scheme: 'basic' })).rejects.toThrow(
      'does not say how requests carry',
    );
  });
});

const operation = (operationId: string, fields: object = {}) => ({
  ...{ operationId, summary: `Do ${operationId}.`, responses },
  ...fields,
});
const key = { type: 'apiKey', in: 'header', name: 'X-Key' };
const document = (paths: object, more: object = {}) =>
  JSON.stringify({
    ...{ openapi: '3.0.3', info, paths, servers: [{ url: 'https://shop.example/v2' }] },
    ...{ components: { securitySchemes: { key } }, ...more },
  });
const orders = {
  get: operation('list', { parameters: [query('tenant'), query('state')] }),
  post: operation('add'),
};
const paths = { '/orders': orders, '/tags': { get: operation('tags') } };

const importOnce = async (text: string, more: object = {}, written?: WrittenConfig) =>
  (await importOpenApi(text, 'shop.json', { name: 'shop', ...more }, written)).config;
const namesOf = ({ tools }: WrittenConfig) => tools.map(({ name, approval }) => `${name} ${approval}`);

it('an import makes an entry that agents accept', async () => {
  const config = await importOnce(document(paths), { secret: 'shop' });
  expect(config).toMatchObject({
    ...{ base_url: 'https://shop.example/v2', document: 'shop.json' },
    auth: { type: 'header', name: 'X-Key', prefix: '', secret: 'shop' },
  });
  expect(namesOf(config)).toEqual(['shop_add always', 'shop_list never', 'shop_tags never']);
  expect(httpApiConfig.safeParse(config).error).toBeUndefined();
  expect(namesOf(await importOnce(document(paths), { only: ['tags', 'shop_add'] }))).toEqual([
    ...['shop_add always', 'shop_tags never'],
  ]);
  const dotted = { '/pets': { get: operation('pets.list'), post: operation('pets.add') } };
  expect(namesOf(await importOnce(document(dotted), { only: ['pets.list'] }))).toEqual([
    'shop_pets_list never',
  ]);
  await expect(importOnce(document(paths), { only: ['tags', 'tag'] })).rejects.toThrow(
    'The document has no operation tag',
  );
});

it('a document that is empty, null or no object is not valid', async () => {
  for (const text of ['', ' \n', 'null', '~', '# nothing', '5', '[]'])
    await expect(importOnce(text), JSON.stringify(text)).rejects.toThrow(/^It is /);
});

it('another import of the same document changes nothing, and keeps what the operator has written', async () => {
  const first = await importOnce(document(paths), { only: ['add', 'list'] });
  expect(await importOnce(document(paths), {}, first)).toEqual(first);
  const [add, list] = first.tools;
  const { tenant: _, ...properties } = Object(list?.input_schema.properties);
  const written = {
    ...{ ...first, base_url: 'https://staging.shop.example', timeout_seconds: 5 },
    tools: [
      { ...add, name: 'shop_add_new', approval: 'never' },
      {
        ...{ ...list, pick: ['[].id'], input_schema: { ...list?.input_schema, properties } },
        parameters: [{ name: 'tenant', in: 'query', fixed: '{{external_user_id}}' }, list?.parameters?.[1]],
      },
    ],
  } as WrittenConfig;
  expect(await importOnce(document(paths), {}, written)).toEqual(written);
});

it('the approval of a tool that has changed is always, and what is gone is no tool', async () => {
  const first = await importOnce(document(paths));
  const summary = 'List, and follow me.';
  const changed = { ...paths, '/orders': { get: { ...orders.get, summary }, post: orders.post } };
  expect(namesOf(await importOnce(document(changed), {}, first))).toEqual([
    ...['shop_add always', 'shop_list always', 'shop_tags never'],
  ]);
  const { '/tags': _, ...rest } = paths;
  expect(namesOf(await importOnce(document(rest), {}, first))).toEqual([
    'shop_add always',
    'shop_list never',
  ]);
  const moved = document(paths, { servers: [{ url: 'https://evil.example' }] });
  expect((await importOnce(moved, {}, first)).base_url).toBe('https://shop.example/v2');
});

it.each([
  [document(paths, { servers: [] }), {}, undefined, 'The document has no address of its own'],
  [document(paths), {}, { base_url: 'x', tools: [] }, 'The entry in the file is wrong: base_url must be'],
])('an import that cannot be done says why', async (text, more, written, message) => {
  await expect(importOnce(text, more, written as never)).rejects.toThrow(message);
});
