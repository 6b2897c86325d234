import type * as z from 'zod';
import { dialectOf } from '#contract/routes/dialect.ts';
import { type Route, type RouteName, routes } from '#contract/routes.ts';
import { inputNode, type Path, places, type SchemaNode } from './fuzz/schema-nodes.ts';

/** A location in a request that takes an id: of a chat, a file, a user, or of a previous request. */
export interface IdLocation {
  route: RouteName;
  part: 'parameters' | 'query' | 'headers' | 'body';
  path: Path;
  name: string;
  /** Whether it takes a list of ids. */
  isList: boolean;
}

const parts = ['parameters', 'query', 'headers', 'body'] as const;

/**
 * All locations that take an id, found in the schemas of the route table. The ids of the OpenAI-compatible routes are
 * those of models: openai-stateless.test.ts.
 */
export const idLocations = (): IdLocation[] =>
  (Object.entries(routes) as [RouteName, Route][])
    .filter(([, route]) => dialectOf(route).isInOpenApiDocument)
    .flatMap(([route, schemas]) =>
      parts.flatMap((part) =>
        part === 'body' && schemas.multipart ? [] : locationsIn(route, part, schemas[part]),
      ),
    );

function locationsIn(route: RouteName, part: IdLocation['part'], schema: z.ZodType): IdLocation[] {
  // Each list of objects gets one element, so that the locations inside it are found.
  const node = inputNode(schema);
  return [...places(node, sampleOf(node))].flatMap(({ path, node: location }) => {
    const name = String(path.at(-1) ?? '');
    const item = location.type === 'array' ? location.items : location;
    return item !== undefined && isId(name, item)
      ? [{ route, part, path, name, isList: item !== location }]
      : [];
  });
}

const isId = (name: string, { type, format }: SchemaNode): boolean =>
  format === 'uuid' || (type !== 'object' && /(?:^|[_-])(?:ids?|uuids?|key)$/.test(name));

function sampleOf(node: SchemaNode): unknown {
  if (node.type === 'array') return node.items?.type === 'object' ? [sampleOf(node.items)] : [];
  if (node.type !== 'object') return undefined;
  return Object.fromEntries(
    Object.entries(node.properties ?? {}).map(([key, child]) => [key, sampleOf(child)]),
  );
}
