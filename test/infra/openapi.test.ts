import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { documentedRoutes, responses } from '#contract/routes.ts';
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
  type?: string | string[];
  format?: string;
  const?: unknown;
  minimum?: number;
  maximum?: number;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: boolean | Schema;
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
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
const problems = (isWrong: (schema: Schema) => boolean): string[] =>
  allSchemas.filter(([, schema]) => isWrong(schema)).map(([path]) => path);

describe('generators of clients can read the schemas:', () => {
  test('every object is a component, and every component an object or a union', () => {
    expect(allSchemas.length).toBeGreaterThan(500);
    const inline = ([path, schema]: [string, Schema]) =>
      schema.properties !== undefined && !/^\/components\/schemas\/\w+$/.test(path);
    expect(allSchemas.filter(inline).map(([path]) => path)).toEqual([]);
    const scalars = Object.entries(schemas).filter(([, { properties, oneOf }]) => !(properties ?? oneOf));
    expect(scalars.map(([name]) => name)).toEqual([]);
  });

  test('integers say their size and have no bound that only JavaScript has', () => {
    const isInteger = ({ type }: Schema) => [type].flat().includes('integer');
    expect(problems((schema) => isInteger(schema) && !/^int(32|64)$/.test(schema.format ?? ''))).toEqual([]);
    expect(problems(({ minimum }) => minimum === Number.MIN_SAFE_INTEGER)).toEqual([]);
    expect(problems(({ maximum }) => maximum === Number.MAX_SAFE_INTEGER)).toEqual([]);
    expect(schemas.Message?.properties?.id).toMatchObject({ format: 'int64', minimum: 1 });
    const codes = allSchemas.filter(([path]) => path.endsWith('/error_code'));
    expect(codes.map(([, { format }]) => format).filter((format) => format !== 'int32')).toEqual([]);
  });

  test('events are a union with a discriminator, and each has an example', () => {
    const { oneOf = [], discriminator } = schemas.StreamEvent ?? {};
    expect(oneOf.length).toBe(7);
    expect(discriminator?.propertyName).toBe('type');
    expect(Object.values(discriminator?.mapping ?? {})).toEqual(oneOf.map(({ $ref }) => $ref));
    for (const [type, reference] of Object.entries(discriminator?.mapping ?? {})) {
      const event = schemas[reference.split('/').at(-1) ?? ''];
      expect(event?.properties?.type?.const).toBe(type);
      expect(event?.examples).toHaveLength(1);
    }
  });
});

interface Content {
  schema: Schema;
  example?: unknown;
}
interface Operation {
  operationId: string;
  tags?: string[];
  summary?: string;
  parameters?: { name: string; description?: string }[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { description?: string; content?: Record<string, Content> }>;
}
const operations = (): Operation[] =>
  Object.values({ ...document.paths, ...document.webhooks }).flatMap(
    (methods) => Object.values(methods) as unknown as Operation[],
  );
const contentsOf = ({ requestBody, responses }: Operation): Content[] => [
  ...Object.values(requestBody?.content ?? {}),
  ...Object.values(responses).flatMap(({ content }) => Object.values(content ?? {})),
];

test('every operation has a summary and one tag, every tag a description, and no description is empty', () => {
  expect(operations().length).toBe(documentedRoutes.length + 1);
  for (const { operationId, summary, tags } of operations())
    expect([operationId, summary, tags]).toEqual([
      operationId,
      expect.stringMatching(/./),
      [expect.any(String)],
    ]);
  const described = (document.tags ?? []).map(({ name, description }) => [name, description ?? '']);
  expect(JSON.stringify([document, described])).not.toContain('"description":""');
  expect(described.map(([, description]) => description)).not.toContain('');
  expect(new Set(operations().flatMap(({ tags = [] }) => tags))).toEqual(
    new Set(described.map(([name]) => name)),
  );
});

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
