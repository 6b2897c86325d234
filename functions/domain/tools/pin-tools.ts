import { isDeepStrictEqual } from 'node:util';
import { problemOfSchema } from '#contract/json-schema.ts';
import { isList, isObject, isText, rules, type SchemaObject } from '#contract/json-schema-rules.ts';
import { bytesInWords } from '#contract/limits.ts';
import {
  type McpConfig,
  type PinnedTool,
  problemOfText,
  problemOfTexts,
  toolLimits,
} from '#contract/tools.ts';
import type { McpTool } from './remote-tools.ts';

export interface LiveTool<Tool extends PinnedTool> {
  name: string;
  /** Undefined for a tool that cannot be pinned; `notes` say why. */
  tool: Tool | undefined;
  previous: Tool | undefined;
  notes: readonly string[];
}

export interface PinnedChange<Tool extends PinnedTool = PinnedTool> {
  name: string;
  state: 'new' | 'changed' | 'removed' | 'same' | 'skipped';
  before: Tool | undefined;
  after: Tool | undefined;
  notes: readonly string[];
}

/**
 * In the order of names. The name of a pinned tool stays, and so does its approval while all else is the same. After a
 * change, a person must approve each use.
 * @param live `previous` must be the same object as in `before`. A tool that is the `previous` of none is `removed`
 */
export function compareTools<Tool extends PinnedTool>(
  live: readonly LiveTool<Tool>[],
  before: readonly Tool[],
): PinnedChange<Tool>[] {
  const changes = live.map(({ name, tool, previous, notes }): PinnedChange<Tool> => {
    const common = { name: previous?.name ?? name, before: previous, notes };
    if (tool === undefined) return { ...common, state: 'skipped', after: undefined };
    if (previous === undefined) return { ...common, state: 'new', after: tool };
    const after = { ...tool, name: previous.name, approval: previous.approval };
    if (isDeepStrictEqual(after, previous)) return { ...common, state: 'same', after };
    return { ...common, state: 'changed', after: { ...after, approval: 'always' } };
  });
  const gone = before.filter((tool) => !live.some(({ previous }) => previous === tool));
  const removed = { state: 'removed', after: undefined, notes: [] } as const;
  return [...changes, ...gone.map((tool) => ({ ...removed, name: tool.name, before: tool }))].toSorted(
    byName,
  );
}

export const byName = (one: { name: string }, other: { name: string }): number =>
  Number(one.name > other.name) - Number(one.name < other.name);

/**
 * Adds the name to `taken`. It has at most 64 characters, a limit of providers.
 * @param unusable matches the characters that become underscores
 */
export function uniqueName(text: string, taken: Set<string>, unusable = /[^A-Za-z0-9_-]/g): string {
  const start = text.replaceAll(unusable, '_').slice(0, 64);
  let name = start;
  for (let number = 2; taken.has(name); number += 1)
    name = `${start.slice(0, number < 1000 ? 60 : 57)}_${number}`;
  taken.add(name);
  return name;
}

interface Words {
  name: string;
  description: string;
  inputSchema: SchemaObject;
}

/** Undefined if nothing is wrong. An empty `field` stands for the whole tool. */
export function problemOfWords(words: Words): { field: readonly string[]; problem: string } | undefined {
  const size = problemOfSize([words], toolLimits.offerBytes);
  if (size !== undefined) return { field: [], problem: size };
  const hidden = problemOfText(words.description);
  if (hidden !== undefined) return { field: ['description'], problem: hidden };
  const problem = problemOfInput(words.inputSchema);
  return problem === undefined ? undefined : { field: ['input_schema'], problem };
}

function problemOfInput(schema: SchemaObject): string | undefined {
  if (schema.type !== 'object') return 'must have the type object';
  const problem = problemOfSchema(schema, toolLimits.schemaLevels);
  // The texts of a schema with too many levels are not read: that could need too much of the stack.
  if (problem === undefined) return problemOfTexts(schema);
  return problem.startsWith('# ') ? problem.slice(2) : `at ${problem}`;
}

export function problemOfSize(tools: readonly Words[], most: number): string | undefined {
  const words = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const bytes = words.reduce((sum, each) => sum + Buffer.byteLength(JSON.stringify(each)), 0);
  return bytes <= most
    ? undefined
    : `has ${bytes} bytes of names, descriptions and schemas, at most ${bytesInWords(most)} are allowed`;
}

type McpPinned = McpConfig['tools'][number];

/** `only` has names at the server; undefined stands for all. */
export function toolsOfServer(
  listed: readonly McpTool[],
  before: readonly McpPinned[],
  { prefix, only }: { prefix: string; only?: readonly string[] | undefined },
): LiveTool<McpPinned>[] {
  const names = new Set(before.map(({ name }) => name));
  const wanted = listed.filter(({ name }) => only === undefined || only.includes(name));
  const seen = new Set<string>();
  return wanted.toSorted(byName).map(({ name: remoteName, description = '', inputSchema, annotations }) => {
    const isRepeated = seen.has(remoteName);
    seen.add(remoteName);
    const previous = isRepeated ? undefined : before.find(({ tool }) => tool === remoteName);
    const name = previous?.name ?? uniqueName(`${prefix}_${remoteName}`, names);
    if (isRepeated)
      return { name, previous, tool: undefined, notes: ['the server has another tool of this name'] };
    const headers = headersIn(inputSchema);
    const unknown = new Set<string>();
    const schema = withoutExtensions({ type: 'object', properties: {}, ...inputSchema }, unknown);
    const found = problemOfWords({ name, description, inputSchema: schema });
    const notes = [...unknown].map((keyword) => `the keyword ${keyword} is not supported and was left out`);
    if (found !== undefined)
      return { name, previous, tool: undefined, notes: [[...found.field, found.problem].join(' ')] };
    const tool: McpPinned = {
      ...{ name, tool: remoteName, description, input_schema: schema },
      approval: annotations?.readOnlyHint === true ? 'never' : 'always',
      ...(headers.length > 0 && { parameter_headers: Object.fromEntries(headers) }),
    };
    return { name, previous, tool, notes };
  });
}

const headersIn = (schema: SchemaObject, path: readonly string[] = []): [string, string[]][] =>
  Object.entries(Object(schema.properties)).flatMap(([name, child]) => {
    const { 'x-mcp-header': header, ...rest } = Object(child);
    const at = [...path, name];
    return [...(isText(header) ? [[header, at] as [string, string[]]] : []), ...headersIn(rest, at)];
  });

/** Also leaves out keywords that are not in `rules`, and adds them to `unknown`. */
function withoutExtensions(schema: SchemaObject, unknown: Set<string>): SchemaObject {
  const known = Object.entries(schema).filter(([keyword]) => {
    if (/^(?:x-.*|\$schema|\$comment)$/.test(keyword)) return false;
    if (!rules.has(keyword)) unknown.add(keyword);
    return rules.has(keyword);
  });
  return withSchemas(Object.fromEntries(known), (child) => withoutExtensions(child, unknown));
}

const dataKeywords = new Set(['enum', 'const', 'default', 'examples']);
const namingKeywords = new Set(['properties', '$defs', 'definitions']);

export function withSchemas(schema: SchemaObject, convert: (child: SchemaObject) => unknown): SchemaObject {
  const each = (child: unknown) => (isObject(child) ? convert(child) : child);
  const eachIn = (parent: SchemaObject, change: (child: unknown, name: string) => unknown) =>
    Object.fromEntries(Object.entries(parent).map(([name, child]) => [name, change(child, name)]));
  return eachIn(schema, (value, keyword) => {
    if (dataKeywords.has(keyword)) return value;
    if (namingKeywords.has(keyword) && isObject(value)) return eachIn(value, each);
    return isList(value) ? value.map(each) : each(value);
  });
}
