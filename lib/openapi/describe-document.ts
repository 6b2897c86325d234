import type { createDocument } from 'zod-openapi';
import { type RouteName, routes } from '#contract/routes.ts';
import { camelCase } from '../function-names.ts';
import { eventExamples, requestExamples } from './examples.ts';
import { parameterDescriptions, parametersOfRoute } from './parameter-descriptions.ts';
import type { SchemaDescription } from './request-descriptions.ts';
import { envelopeProperties, schemaDescriptions } from './schema-descriptions.ts';

type OpenApiDocument = ReturnType<typeof createDocument>;

interface Schema {
  $ref?: string;
  description?: string;
  properties?: Record<string, Schema & { const?: unknown }>;
  examples?: unknown[];
}

interface Operation {
  operationId?: string;
  parameters?: { name: string; description?: string }[];
}

/** @throws Error, for example if a schema or a parameter has no description */
export function describeDocument(document: OpenApiDocument): OpenApiDocument {
  const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>;
  const descriptions: Readonly<Record<string, SchemaDescription>> = schemaDescriptions;
  rejectUnused('schema', Object.keys(descriptions), Object.keys(schemas));
  for (const [name, schema] of Object.entries(schemas)) {
    const fallback = name.endsWith('Envelope') ? envelopeProperties : {};
    describeSchema(name, schema, descriptions[name] ?? fallback);
  }

  for (const methods of Object.values({ ...document.paths, ...document.webhooks }))
    for (const operation of Object.values(methods as Record<string, Operation>))
      describeParameters(operation);
  return document;
}

const examples = new Map<string, unknown>([
  ...Object.entries(eventExamples),
  ['UploadFileRequest', requestExamples['upload-file']],
]);

/** The key `schema` is for the schema itself, so a property of this name has another key. */
const nameIn = (property: string): string => (property === 'schema' ? 'schema (property)' : property);

function describeSchema(name: string, schema: Schema, described: SchemaDescription): void {
  const { schema: own = schema.description, ...ofProperties } = described;
  if (own === undefined) throw new Error(`The schema ${name} has no description`);
  schema.description = own;
  const properties = Object.entries(schema.properties ?? {});
  const inline = properties.filter(([, { $ref }]) => $ref === undefined);
  for (const [key, property] of inline) {
    const description = ofProperties[nameIn(key)];
    if (description === undefined) throw new Error(`${name}.${key} has no description`);
    property.description = description;
  }
  rejectUnused(
    `property of ${name}`,
    Object.keys(ofProperties),
    inline.map(([key]) => nameIn(key)),
  );
  const example = examples.get(name) ?? examples.get(String(schema.properties?.type?.const));
  if (example !== undefined) schema.examples = [example];
}

function describeParameters({ operationId, parameters = [] }: Operation): void {
  const route = (Object.keys(routes) as RouteName[]).find((name) => camelCase(name) === operationId);
  const own = route === undefined ? {} : (parametersOfRoute[route] ?? {});
  rejectUnused(
    `parameter of ${operationId}`,
    Object.keys(own),
    parameters.map(({ name }) => name),
  );
  for (const parameter of parameters) {
    const description = own[parameter.name] ?? parameterDescriptions[parameter.name];
    if (description === undefined)
      throw new Error(`The parameter ${parameter.name} of ${operationId} has no description`);
    parameter.description = description;
  }
}

function rejectUnused(what: string, described: readonly string[], existing: readonly string[]): void {
  const unused = described.filter((name) => !existing.includes(name));
  if (unused.length > 0) throw new Error(`Descriptions of no ${what}: ${unused.join(', ')}`);
}
