import type { createDocument } from 'zod-openapi';
import { type RouteName, routes } from '#contract/routes.ts';
import { eventExamples, requestExamples } from './examples.ts';
import { parameterDescriptions, parametersOfRoute } from './parameter-descriptions.ts';
import type { SchemaDescription } from './schema-description.ts';
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

/**
 * Adds the descriptions of schemas, properties and parameters, and the examples of events.
 * @throws Error that names what has no description, or a description of nothing
 */
export function describeDocument(document: OpenApiDocument): OpenApiDocument {
  const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>;
  const descriptions: Readonly<Record<string, SchemaDescription>> = schemaDescriptions;
  rejectUnused('schema', Object.keys(descriptions), Object.keys(schemas));
  for (const [name, schema] of Object.entries(schemas))
    describeSchema(
      name,
      schema,
      descriptions[name] ?? (name.endsWith('Envelope') ? envelopeProperties : undefined),
    );

  for (const methods of Object.values({ ...document.paths, ...document.webhooks }))
    for (const operation of Object.values(methods as Record<string, Operation>))
      describeParameters(operation);
  return document;
}

/** Examples in schemas: of each type of event, and of the form, whose body is not JSON. */
const examples = new Map<string, unknown>([
  ...Object.entries(eventExamples),
  ['UploadFileRequest', requestExamples['upload-file']],
]);

/** The name of a property in a description, whose `schema` is the schema itself. */
const nameIn = (property: string): string => (property === 'schema' ? 'schema (property)' : property);

function describeSchema(name: string, schema: Schema, described: SchemaDescription | undefined): void {
  const { schema: own = schema.description, ...ofProperties }: SchemaDescription = described ?? {};
  if (own === undefined) throw new Error(`The schema ${name} has no description`);
  schema.description = own;
  const properties = Object.entries(schema.properties ?? {});
  for (const [key, property] of properties) {
    const description = ofProperties[nameIn(key)];
    // A schema that is referred to has a description of its own.
    if (property.$ref === undefined && description === undefined)
      throw new Error(`${name}.${key} has no description`);
    if (property.$ref === undefined && description !== undefined) property.description = description;
  }
  const inline = properties.filter(([, { $ref }]) => $ref === undefined).map(([key]) => nameIn(key));
  rejectUnused(`property of ${name}`, Object.keys(ofProperties), inline);
  const example = examples.get(name) ?? examples.get(String(schema.properties?.type?.const));
  if (example !== undefined) schema.examples = [example];
}

function describeParameters({ operationId, parameters = [] }: Operation): void {
  const route = (Object.keys(routes) as RouteName[]).find((name) => operationIdOf(name) === operationId);
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

/** `create-chat` is `createChat`. */
export const operationIdOf = (name: string): string =>
  name.replaceAll(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
