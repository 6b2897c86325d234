import { isDeepStrictEqual } from 'node:util';
import { problemOfSchema } from '#contract/json-schema.ts';
import { isObject } from '#contract/json-schema-rules.ts';
import { type McpConfig, type PinnedTool, problemOfText, toolLimits } from '#contract/tools.ts';
import type { McpTool } from './mcp.ts';

type Pinned = McpConfig['tools'][number];

export interface PinnedChange<Pinned extends PinnedTool = PinnedTool> {
  name: string;
  approval: Pinned['approval'] | null;
  state: 'new' | 'changed' | 'removed' | 'same' | 'skipped';
  before: Pinned | undefined;
  after: Pinned | undefined;
  /** What an operator should know, such as why a tool was skipped. */
  notes: string[];
}

/**
 * The tools of a server as an entry pins them, in the order of their names. The same tools give the same result, whatever
 * their order at the server. An earlier name stays, and so does an earlier approval unless the words or the schema have
 * changed: then a person must approve each use, until an operator has read them.
 * @param prefix of new names
 * @param only names at the server; undefined for all
 */
export function pinTools(
  live: readonly McpTool[],
  before: readonly Pinned[],
  { prefix, only }: { prefix: string; only?: readonly string[] | undefined },
): PinnedChange<Pinned>[] {
  const names = new Set(before.map(({ name }) => name));
  const wanted = live.filter(({ name }) => only === undefined || only.includes(name));
  const changes = wanted
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((tool) =>
      pin(
        tool,
        before.find((each) => each.tool === tool.name),
        names,
        prefix,
      ),
    );
  const removed = before
    .filter(({ tool }) => !wanted.some(({ name }) => name === tool))
    .map((gone) => ({ ...changeOf('removed', gone.name, []), before: gone }));
  return [...changes, ...removed].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function pin(
  tool: McpTool,
  previous: Pinned | undefined,
  names: Set<string>,
  prefix: string,
): PinnedChange<Pinned> {
  const name = previous?.name ?? nameOf(`${prefix}_${tool.name}`, names);
  names.add(name);
  const { description = '' } = tool;
  const { schema, parameterHeaders, notes, wrongHeader } = readableSchema(tool.inputSchema);
  const found = problemOfSchema(schema, toolLimits.schemaLevels);
  const problem =
    wrongHeader ??
    problemOfText(description) ??
    problemOfText(JSON.stringify(schema)) ??
    (found && `its schema ${found.problem}`);
  if (problem !== undefined) return { ...changeOf('skipped', name, [problem]), before: previous };
  const isSame =
    previous !== undefined &&
    previous.description === description &&
    isDeepStrictEqual(previous.input_schema, schema) &&
    isDeepStrictEqual(previous.parameter_headers ?? {}, parameterHeaders);
  if (isSame)
    return {
      ...changeOf('same', name, notes),
      approval: previous.approval,
      before: previous,
      after: previous,
    };
  const isReadOnly = tool.annotations?.readOnlyHint === true;
  const approval = previous === undefined && isReadOnly ? 'never' : 'always';
  const after: Pinned = {
    ...{ name, tool: tool.name, description, approval, input_schema: schema },
    ...(Object.keys(parameterHeaders).length > 0 && { parameter_headers: parameterHeaders }),
  };
  return { ...changeOf(previous ? 'changed' : 'new', name, notes), approval, before: previous, after };
}

const changeOf = (state: PinnedChange['state'], name: string, notes: string[]): PinnedChange<Pinned> => ({
  ...{ name, state, notes, approval: null, before: undefined, after: undefined },
});

/** Functions of models have names of 64 letters, digits, underscores and hyphens. */
function nameOf(wanted: string, names: ReadonlySet<string>): string {
  const name = wanted.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name.slice(0, 61)}_${number}`;
    if (!names.has(candidate)) return candidate;
  }
}

/** How many keywords of a schema may be removed. */
const removals = 100;

/**
 * The schema as models get it: without extensions, and without keywords that the service cannot check. The server checks
 * those itself.
 */
function readableSchema(given: Record<string, unknown>) {
  const headers: [name: unknown, path: readonly string[], type: unknown][] = [];
  const notes: string[] = [];
  const schema = withoutExtensions({ type: 'object', properties: {}, ...given }, [], headers) as Record<
    string,
    unknown
  >;
  for (let count = 0; count < removals; count += 1) {
    const found = problemOfSchema(schema, toolLimits.schemaLevels);
    if (found === undefined || found.place === '#') break;
    const steps = found.place
      .slice(2)
      .split('/')
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
    const parent = steps.slice(0, -1).reduce<unknown>((node, step) => Object(node)[step], schema);
    if (!isObject(parent) || !Reflect.deleteProperty(parent, steps.at(-1) ?? '')) break;
    notes.push(`${found.place} ${found.problem} and was left out`);
  }
  const parameterHeaders = Object.fromEntries(headers.map(([name, path]) => [String(name), [...path]]));
  return { schema, parameterHeaders, notes, wrongHeader: problemOfHeaders(headers) };
}

/** The protocol forbids calls of a tool whose marks of headers are wrong. */
function problemOfHeaders(
  headers: readonly (readonly [name: unknown, path: readonly string[], type: unknown])[],
) {
  const names = headers.map(([name]) => String(name).toLowerCase());
  const isRight = ([name, path, type]: (typeof headers)[number], index: number): boolean =>
    typeof name === 'string' &&
    /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(name) &&
    path.length > 0 &&
    ['string', 'integer', 'boolean'].includes(String(type)) &&
    names.indexOf(name.toLowerCase()) === index;
  return headers.every(isRight) ? undefined : 'an argument names a header that is not valid';
}

/** Names of properties stay, whatever they are. */
function withoutExtensions(
  value: unknown,
  path: readonly string[],
  headers: [name: unknown, path: readonly string[], type: unknown][],
  areNames = false,
): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutExtensions(each, path, headers));
  if (!isObject(value)) return value;
  if (!areNames && 'x-mcp-header' in value) headers.push([value['x-mcp-header'], path, value.type]);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => areNames || !/^(?:x-.*|\$schema|\$comment)$/.test(name))
      .map(([name, each]) => {
        const hasNames = !areNames && ['properties', '$defs', 'definitions'].includes(name);
        return [name, withoutExtensions(each, areNames ? [...path, name] : path, headers, hasNames)];
      }),
  );
}
