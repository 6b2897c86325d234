import type * as z from 'zod';
import { type Route, type RouteName, routes } from '#contract/routes.ts';
import { inputNode, type Path, places, type SchemaNode } from './fuzz/schema-nodes.ts';

/** A place of a request that names something: a chat, a file, a user, or an earlier request. */
export interface IdLocation {
  route: RouteName;
  part: 'parameters' | 'query' | 'headers' | 'body';
  path: Path;
  name: string;
  /** Whether it takes several. */
  isList: boolean;
}

const parts = ['parameters', 'query', 'headers', 'body'] as const;

/** All places of all routes that take an id, found by what the route table says of them. */
export const idLocations = (): IdLocation[] =>
  (Object.entries(routes) as [RouteName, Route][]).flatMap(([route, schemas]) =>
    parts.flatMap((part) =>
      part === 'body' && schemas.multipart ? [] : locationsIn(route, part, schemas[part]),
    ),
  );

function locationsIn(route: RouteName, part: IdLocation['part'], schema: z.ZodType): IdLocation[] {
  // One element in each list of objects, so that what it holds is found.
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
