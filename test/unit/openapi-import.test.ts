import { expect, it } from 'vitest';
import { httpApiConfig } from '#contract/http-api.ts';
import { importOpenApi, type WrittenConfig } from '../../bin/agentctl/openapi/import-openapi.ts';

const query = (name: string) => ({ name, in: 'query', schema: { type: 'string' } });
const operation = (operationId: string, fields: object = {}) => ({
  ...{ operationId, summary: `Do ${operationId}.`, responses: { 200: { description: 'ok' } } },
  ...fields,
});
const document = (paths: object, more: object = {}) =>
  JSON.stringify({
    ...{
      openapi: '3.0.3',
      info: { title: 'Shop', version: '1' },
      paths,
      servers: [{ url: 'https://shop.example/v2' }],
    },
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    ...more,
  });
const orders = {
  get: operation('list', { parameters: [query('tenant'), query('state')] }),
  post: operation('add'),
};
const paths = { '/orders': orders, '/tags': { get: operation('tags') } };
const options = { name: 'shop' };

const importOnce = async (text: string, more: object = {}, written?: WrittenConfig) =>
  (await importOpenApi(text, 'shop.json', { ...options, ...more }, written)).config;
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
  [
    document(paths, { components: {} }),
    { secret: 'shop' },
    undefined,
    'does not say how requests carry the secret',
  ],
  [document(paths), {}, { base_url: 'x', tools: [] }, 'The entry in the file is wrong: base_url must be'],
])('an import that cannot be done says why', async (text, more, written, message) => {
  await expect(importOnce(text, more, written as never)).rejects.toThrow(message);
});
