import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { responses } from '#contract/routes.ts';
import { responseExamples } from '#lib/openapi/examples.ts';
import { openApiDocument } from '#lib/openapi-document.ts';

const document = openApiDocument('1.0.0');

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate({ ...document });
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(validator.version).toBe('3.1');
});

const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>;

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  oneOf?: Schema[];
  examples?: unknown[];
}

/** Every schema inside a value of the document, with its path. */
function schemasIn(value: unknown, path = ''): [path: string, schema: Schema][] {
  if (typeof value !== 'object' || value === null) return [];
  const own: [string, Schema][] = 'type' in value || '$ref' in value ? [[path, value as Schema]] : [];
  return [
    ...own,
    ...Object.entries(value)
      .filter(([key]) => !['example', 'examples', 'mapping'].includes(key))
      .flatMap(([key, child]) => schemasIn(child, `${path}/${key}`)),
  ];
}
const allSchemas = schemasIn({ components: { schemas }, paths: document.paths, webhooks: document.webhooks });

test('every object is a component, and every component an object or a union', () => {
  expect(allSchemas.length).toBeGreaterThan(500);
  const inline = ([path, schema]: [string, Schema]) =>
    schema.properties !== undefined && !/^\/components\/schemas\/\w+$/.test(path);
  expect(allSchemas.filter(inline).map(([path]) => path)).toEqual([]);
  const scalars = Object.entries(schemas).filter(([, { properties, oneOf }]) => !(properties ?? oneOf));
  expect(scalars.map(([name]) => name)).toEqual([]);
});

interface Content {
  schema: Schema;
  example?: unknown;
}
interface Operation {
  operationId: string;
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { content?: Record<string, Content> }>;
}
const operations = (): Operation[] =>
  Object.values({ ...document.paths, ...document.webhooks }).flatMap(
    (methods) => Object.values(methods) as unknown as Operation[],
  );
const contentsOf = ({ requestBody, responses }: Operation): Content[] => [
  ...Object.values(requestBody?.content ?? {}),
  ...Object.values(responses).flatMap(({ content }) => Object.values(content ?? {})),
];

test('the examples match their schemas', () => {
  const definitions = JSON.parse(
    JSON.stringify(schemas).replaceAll('#/components/schemas/', '#/$defs/'),
  ) as Record<string, Schema>;
  let count = 0;
  const check = (reference: string, example: unknown) => {
    const schema = { $ref: reference.replace('#/components/schemas/', '#/$defs/'), $defs: definitions };
    z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).parse(example);
    count += 1;
  };
  for (const operation of operations())
    for (const { schema, example } of contentsOf(operation)) {
      if (/\/(StreamEvent|UploadFileRequest)$/.test(schema.$ref ?? '')) continue;
      expect(example, operation.operationId).toBeDefined();
      check(schema.$ref ?? '', example);
    }
  for (const [name, { examples = [] }] of Object.entries(schemas))
    for (const example of examples) check(`#/components/schemas/${name}`, example);
  expect(count).toBeGreaterThan(100);
});

test('the examples of responses have no field that the contract does not have', () => {
  for (const [name, example] of Object.entries(responseExamples))
    expect(responses[name as keyof typeof responseExamples].parse(example), name).toEqual(example);
});
