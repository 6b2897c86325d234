import fc from 'fast-check';
import { hasBody } from '#contract/routes/route.ts';
import { documentedRoutes, type Route, type RouteName, routes } from '#contract/routes.ts';
import { hostileForm } from './hostile-forms.ts';
import { type Change, changesOf, write } from './hostile-json.ts';
import {
  brokenHttp,
  hostileHeaders,
  hostilePaths,
  hostileQueries,
  hostileTexts,
  longHeaders,
  longTexts,
  methods,
} from './hostile-lines.ts';
import type { RawRequest } from './raw-exchange.ts';
import { inputNode, type Known, type Path, places, type SchemaNode, valid } from './schema-nodes.ts';
import { wrappedTexts } from './wrapped-texts.ts';

/** A request of one route, with at most one thing wrong. */
export interface FuzzRequest extends RawRequest {
  route: RouteName;
  /** What is wrong with the request, in a few words. */
  what: string;
  /** Through the distribution, or directly to the gateway. */
  door: 'front' | 'gateway';
  /**
   * The inputs of the route's schemas, if the schemas decide the response. Otherwise the response may be any error of
   * the error table.
   */
  expected?: { parameters: object; query: object; headers: object; body: string };
  /** The path may lead to another route: for example to that of a list, if the last segment is empty. */
  isElsewhere?: true;
  /** The request is not valid HTTP: a server may reject it without an envelope, or close the connection. */
  isNoHttp?: true;
}

interface Parts {
  name: RouteName;
  route: Route;
  parameters: Record<string, unknown>;
  query: [string, string][];
  headers: [string, string][];
  body: unknown;
  node: SchemaNode;
}

const weigh = <Value>(...entries: [number, fc.Arbitrary<Value>][]): fc.Arbitrary<Value> =>
  fc.oneof(...entries.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** In 39 of 40 cases a cheap value, else one that costs many bytes or much depth. */
const oneOf = <Value>(cheap: readonly Value[], expensive: readonly (() => Value)[]): fc.Arbitrary<Value> =>
  weigh([39, fc.constantFrom(...cheap)], [1, fc.constantFrom(...expensive).map((make) => make())]);

/** What the generators of requests share. */
interface RequestMaker {
  readonly apiKey: string;
  /** Valid parts of a request of one of these routes. */
  some(names: readonly RouteName[]): fc.Arbitrary<Parts>;
  /** The request with these parts, and then these changes. */
  request(parts: Parts, what: string, changes?: Partial<FuzzRequest> & { text?: string }): FuzzRequest;
}

const routeNames = documentedRoutes.map(({ name }) => name);
const jsonRoutes = routeNames.filter((name) => inputNodeOf(name).type === 'object');
const plainRoutes = routeNames.filter((name) => !('multipart' in routes[name]));

/** Requests of every route of the route table, for a client with this key. */
export function fuzzRequests(apiKey: string, known: readonly Known[]): fc.Arbitrary<FuzzRequest> {
  const maker: RequestMaker = {
    apiKey,
    some: (names) => fc.constantFrom(...names).chain((name) => validParts(name, known)),
    request: (parts, what, changes) => requestOf(apiKey, parts, what, changes),
  };
  return weigh(
    [8, untouchedRequest(maker)],
    [50, changedBody(maker)],
    [8, changedText(maker)],
    [8, changedParameters(maker)],
    [12, changedQuery(maker)],
    [10, changedHeaders(maker)],
    [6, changedLine(maker)],
    [10, hostileFormUpload(maker)],
    [2, brokenRequest(maker)],
  )
    .chain((made) =>
      weigh([5, fc.constant('front' as const)], [1, fc.constant('gateway' as const)]).map((door) => ({
        ...made,
        door,
      })),
    )
    .chain((made) =>
      made.framing === 'length'
        ? weigh([6, fc.constant('length' as const)], [1, fc.constant('chunked' as const)]).map((framing) => ({
            ...made,
            framing,
          }))
        : fc.constant(made),
    );
}

/** Valid parts of a request of this route. */
function validParts(name: RouteName, known: readonly Known[]): fc.Arbitrary<Parts> {
  const route: Route = routes[name];
  const node = inputNodeOf(name);
  const hasBody = node.type !== undefined;
  return fc.constantFrom(...known).chain((ids) =>
    fc.record({
      name: fc.constant(name),
      route: fc.constant(route),
      parameters: valid(inputNode(route.parameters), ids) as fc.Arbitrary<Record<string, unknown>>,
      query: valid(inputNode(route.query), ids).map(pairsOf),
      headers: valid(inputNode(route.headers), ids).map((given) =>
        pairsOf(given).map(([header, value]): [string, string] => [
          header,
          Buffer.from(value).toString('latin1'),
        ]),
      ),
      body: hasBody
        ? valid(node, ids).filter((body) => route.body.safeParse(body).success)
        : fc.constant(undefined),
      node: fc.constant(node),
    }),
  );
}

function requestOf(
  apiKey: string,
  parts: Parts,
  what: string,
  changes: Partial<FuzzRequest> & { text?: string } = {},
): FuzzRequest {
  const { text = parts.body === undefined ? '' : write(parts.body, undefined, unchanged), ...others } =
    changes;
  return {
    route: parts.name,
    what,
    door: 'front',
    method: parts.route.method,
    target: targetOf(parts),
    headers: [
      ['x-api-key', apiKey],
      ...(parts.body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
      ...parts.headers,
    ],
    body: Buffer.from(text),
    framing: parts.body === undefined ? 'none' : 'length',
    ...others,
  };
}

const expectedOf = (parts: Parts, text?: string): Pick<FuzzRequest, 'expected'> => ({
  expected: {
    parameters: Object.fromEntries(
      Object.entries(parts.parameters).map(([key, value]) => [key, String(value)]),
    ),
    query: Object.fromEntries(parts.query),
    headers: Object.fromEntries(parts.headers),
    body: text ?? (parts.body === undefined ? '' : JSON.stringify(parts.body)),
  },
});

function untouchedRequest({ some, request }: RequestMaker): fc.Arbitrary<FuzzRequest> {
  return some(plainRoutes).map((parts) => request(parts, 'nothing', expectedOf(parts)));
}

/** One location of the JSON body is changed. */
function changedBody({ some, request }: RequestMaker): fc.Arbitrary<FuzzRequest> {
  return some(jsonRoutes).chain((parts) =>
    fc
      .constantFrom(...places(parts.node, parts.body))
      .chain(({ path, node }: { path: Path; node: SchemaNode }) => {
        const { cheap, expensive } = changesOf(node, path);
        return oneOf<Change>(cheap, expensive).map((change) => {
          const text = write(parts.body, path, change);
          return request(parts, `body at ${JSON.stringify(path)}: ${describe(change)}`, {
            text,
            ...expectedOf(parts, text),
          });
        });
      }),
  );
}

/** The JSON text is wrapped, or sent as something else. */
function changedText({ some, request }: RequestMaker): fc.Arbitrary<FuzzRequest> {
  return some(jsonRoutes).chain((parts) => {
    const text = JSON.stringify(parts.body);
    return fc.constantFrom(...wrappedTexts(text)).map(([what, body, headers = []]) => {
      return withHeaders(request(parts, what, { body }), headers);
    });
  });
}

/** With these headers in place of its own of the same names. */
function withHeaders(made: FuzzRequest, headers: readonly [string, string][]): FuzzRequest {
  const own = new Set(headers.map(([name]) => name.toLowerCase()));
  const others = made.headers.filter(([name]) => !own.has(name.toLowerCase()));
  return { ...made, headers: [...others, ...headers] };
}

const fixedPaths: ReadonlySet<string> = new Set(Object.values(routes).map(({ path }) => path));

function changedParameters({ some, request }: RequestMaker): fc.Arbitrary<FuzzRequest> {
  return some(plainRoutes.filter((name) => routes[name].path.includes('{'))).chain((parts) =>
    fc.constantFrom(...Object.keys(parts.parameters)).chain((key) =>
      oneOf(hostileTexts, longTexts).map((value) => {
        const changed = { ...parts, parameters: { ...parts.parameters, [key]: value } };
        // An empty value, or one that is not a single path segment, makes another path.
        const isSegment = value !== '' && !/[/%.]/.test(value) && value.length < 5000;
        // A fixed path goes before one with a parameter, also if it lacks the method: then API Gateway responds with 404.
        const isFixedPath = fixedPaths.has(parts.route.path.replace(`{${key}}`, value));
        return request(
          changed,
          `path ${key}: ${value.slice(0, 80)}`,
          isSegment && !isFixedPath ? expectedOf(changed) : { isElsewhere: true },
        );
      }),
    ),
  );
}

function changedQuery({ some, request }: RequestMaker): fc.Arbitrary<FuzzRequest> {
  return some(plainRoutes).chain((parts) => {
    const keys = [...Object.keys(parts.route.query.shape), 'unknown', '__proto__', 'constructor', ''];
    return fc.constantFrom(...keys).chain((key) =>
      weigh(
        [
          6,
          oneOf(hostileTexts, longTexts).map((value) => {
            const changed = {
              ...parts,
              query: [...parts.query.filter(([name]) => name !== key), pair(key, value)],
            };
            const fits = value.length < 5000 && key !== '__proto__';
            return request(changed, `query ${key}: ${value.slice(0, 80)}`, fits ? expectedOf(changed) : {});
          }),
        ],
        [
          2,
          fc.constantFrom(...hostileQueries(key)).map((query) =>
            request(parts, `query ${query.slice(0, 80)}`, {
              target: `${targetOf({ ...parts, query: [] })}?${query}`,
            }),
          ),
        ],
      ),
    );
  });
}

function changedHeaders({ some, request, apiKey }: RequestMaker): fc.Arbitrary<FuzzRequest> {
  return some(plainRoutes).chain((parts) =>
    oneOf(hostileHeaders(apiKey), longHeaders).map(([what, headers]) =>
      withHeaders(request(parts, `headers: ${what}`), headers),
    ),
  );
}

/** Another method, or another way to write the path. */
function changedLine({ some, request }: RequestMaker): fc.Arbitrary<FuzzRequest> {
  return some(routeNames).chain((parts) =>
    weigh(
      [1, fc.constantFrom(...methods).map((method) => request(parts, `method ${method}`, { method }))],
      [
        1,
        fc
          .constantFrom(...hostilePaths(targetOf(parts)))
          .map((target) => request(parts, `path ${target.slice(0, 80)}`, { target, isElsewhere: true })),
      ],
    ),
  );
}

function hostileFormUpload({ apiKey }: RequestMaker): fc.Arbitrary<FuzzRequest> {
  return hostileForm().map(
    ({ what, contentType, body }): FuzzRequest => ({
      route: 'upload-file',
      what: `form: ${what}`,
      door: 'front',
      method: 'POST',
      target: routes['upload-file'].path,
      headers: [
        ['x-api-key', apiKey],
        ...(contentType === undefined ? [] : [['Content-Type', contentType] as const]),
      ],
      body,
      framing: 'length',
    }),
  );
}

function brokenRequest({ some, request }: RequestMaker): fc.Arbitrary<FuzzRequest> {
  return some(plainRoutes).chain((parts) =>
    fc.constantFrom(...brokenHttp).map(([what, headers, ends]) => {
      const made = request(parts, `HTTP: ${what}`, {
        isNoHttp: true,
        framing: 'none',
        ...(ends && { ends }),
      });
      return { ...made, headers: [...made.headers, ...headers] };
    }),
  );
}

const unchanged: Change = { kind: 'remove' };

/** The schema of the route's JSON body; empty if it has none. */
function inputNodeOf(name: RouteName): SchemaNode {
  const route: Route = routes[name];
  return hasBody(route) && !route.multipart ? inputNode(route.body) : {};
}

const describe = (change: Change): string =>
  change.kind === 'replace' ? `${change.text.slice(0, 60)} (${change.text.length})` : JSON.stringify(change);

const pair = (name: string, value: string): [string, string] => [name, value];
const pairsOf = (given: unknown): [string, string][] =>
  Object.entries(given as object).map(([name, value]) => pair(name, String(value)));

function targetOf({ route, parameters, query }: Pick<Parts, 'route' | 'parameters' | 'query'>): string {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, key: string) =>
    encodeURIComponent(wellFormed(String(parameters[key]))),
  );
  const pairs = query.map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(wellFormed(value))}`,
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

const wellFormed = (text: string): string => text.toWellFormed();
