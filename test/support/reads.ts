import { documentedRoutes, type RouteName, type routes } from '#contract/routes.ts';

type Routes = typeof routes;
/** The routes of docs/openapi.json that read. */
export type ReadName = {
  [Name in RouteName]: Routes[Name] extends { dialect: 'openai' }
    ? never
    : Routes[Name] extends { method: 'GET' }
      ? Name
      : never;
}[RouteName];

/** @param values of the parameters of paths, by name */
const pathWith = (path: string, values: Readonly<Record<string, unknown>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (parameter, name: string) => {
    if (values[name] === undefined) throw new Error(`${path}: the test has no value for ${parameter}`);
    return String(values[name]);
  });

/** A call of each route that reads, without query: a new one needs no line in the tests of all routes. */
export const readsOf = <Result>(
  values: Readonly<Record<string, unknown>>,
  get: (path: string) => Result,
): Record<ReadName, () => Result> =>
  Object.fromEntries(
    documentedRoutes
      .filter(({ method }) => method === 'GET')
      .map(({ name, path }) => [name, () => get(pathWith(path, values))]),
  ) as Record<ReadName, () => Result>;
