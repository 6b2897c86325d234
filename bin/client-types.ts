import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, type JSONSchema } from 'json-schema-to-typescript-lite';
import { writeOrCheck } from './write-or-check.ts';

const project = join(import.meta.dirname, '..');
const file = 'lib/client/schema.ts';

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: JSONSchema }[];
}

function readSchemas(): Record<string, JSONSchema> {
  const text = readFileSync(join(project, 'docs/openapi.json'), 'utf8');
  const document = JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/'));
  const operations = Object.values<Record<string, Operation>>(document.paths).flatMap((methods) =>
    Object.values(methods),
  );
  const queries = operations.map(({ operationId, parameters = [] }) => {
    const fields = parameters.filter((parameter) => parameter.in === 'query');
    const schema: JSONSchema = {
      type: 'object',
      description: `The query of ${operationId}.`,
      properties: Object.fromEntries(
        fields.map(({ name, schema, description }) => [
          name,
          description ? { ...schema, description } : schema,
        ]),
      ),
      required: fields.filter(({ required }) => required === true).map(({ name }) => name),
    };
    return [`${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Query`, schema] as const;
  });
  const schemas = Object.entries<JSONSchema>(document.components.schemas);
  return Object.fromEntries([
    ...schemas.filter(([name]) => !name.endsWith('Envelope') && !name.startsWith('Upload')),
    ...schemas.filter(([name]) => name === 'UploadedFile' || name === 'UploadData'),
    ...queries.filter(([name]) => name.startsWith('List') && name !== 'ListPublishedAgentsQuery'),
  ]);
}

async function generate(): Promise<string> {
  const schemas = readSchemas();
  const root: JSONSchema = {
    type: 'object',
    properties: Object.fromEntries(Object.keys(schemas).map((name) => [name, { $ref: `#/$defs/${name}` }])),
    $defs: schemas as NonNullable<JSONSchema['$defs']>,
  };
  const types = await compile(root, 'Contract', { additionalProperties: false, ignoreMinAndMaxItems: true });
  const named = types.replace(/export interface Contract \{[^}]*\}\n/, '');
  return execFileSync(join(project, 'node_modules/.bin/biome'), ['format', `--stdin-file-path=${file}`], {
    cwd: project,
    input: `// Made from docs/openapi.json by npm run client:types.\n\n${named}`,
    encoding: 'utf8',
  });
}

writeOrCheck(file, await generate(), 'does not match docs/openapi.json: run npm run client:types');
