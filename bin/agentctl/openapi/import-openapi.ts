import { isDeepStrictEqual } from 'node:util';
import type * as z from 'zod';
import { describeIssues } from '#contract/describe-issues.ts';
import { configuredNames, type HttpApiConfig, type HttpTool, httpApiConfig } from '#contract/http-api.ts';
import { listOf, own } from '#contract/json-schema-rules.ts';
import { type ToolAuth, toolLimits } from '#contract/tools.ts';
import type { PinnedChange } from '#domain/tools/pin-tools.ts';
import { convertOpenApi, type OpenApiTools } from './convert-openapi.ts';

interface ImportOptions {
  /** Where the document is: a file, or an address. */
  document: string;
  /** Begins the names of tools. Default: `api`. */
  name?: string | undefined;
  /** Ids of operations, or names of tools. Default: the tools of the entry, or all of a new one. */
  only?: readonly string[] | undefined;
  secret?: string | undefined;
  baseUrl?: string | undefined;
}

/** The config of an entry as a file has it, which may lack what has a default. */
export type WrittenConfig = z.input<typeof httpApiConfig>;

/**
 * The config of an entry with the operations of an OpenAPI document. What an operator has written into the entry stays:
 * names, fixed parameters, picked fields and approvals. The approval of a tool that has changed is `always`.
 * @param written the entry's config so far
 * @throws Error if the document is not valid, has no address, or has none of the operations
 */
export async function importOpenApi(
  text: string,
  options: ImportOptions,
  written?: WrittenConfig,
): Promise<{ config: WrittenConfig; changes: PinnedChange[] }> {
  const { data: previous, error } = httpApiConfig.optional().safeParse(written, { reportInput: true });
  if (error !== undefined) throw new Error(`The entry in the file is wrong: ${describeIssues(error.issues)}`);
  const { document, name: prefix = 'api', only, secret } = options;
  const convert = (auth: ToolAuth | undefined) =>
    convertOpenApi(text, {
      ...{ prefix, address: URL.parse(document) ?? undefined },
      configured: configuredNames(auth, previous?.headers),
    });
  const auth = secret === undefined ? previous?.auth : authWith(secret, previous, await convert(undefined));
  const { tools, skipped, ...found } = await convert(auth);
  const baseUrl = options.baseUrl ?? previous?.base_url ?? found.baseUrl;
  if (baseUrl === undefined) throw new Error('The document has no address of its own: give --base-url');
  const isChosen = ({ name, ...operation }: Operation & { name: string }) =>
    only === undefined
      ? previous === undefined || previousOf(previous, operation) !== undefined
      : only.some((each) => [each, `${prefix}_${each}`].includes(name));
  const chosen = tools.filter(isChosen).map((tool) => refreshed(tool, previousOf(previous, tool)));
  if (chosen.length === 0) throw new Error('The document has none of the operations');
  if (chosen.length > toolLimits.offers)
    throw new Error(
      `There are ${chosen.length} operations, and an agent may have ${toolLimits.offers} tools: choose some with --only`,
    );
  // What has not changed stays as it is written.
  const asWritten = (tool: HttpTool) =>
    written?.tools[previous?.tools.findIndex((each) => isDeepStrictEqual(each, tool)) ?? -1] ?? tool;
  return {
    config: { ...written, base_url: baseUrl, document, ...(auth && { auth }), tools: chosen.map(asWritten) },
    changes: changesOf(previous, chosen, skipped.filter(isChosen)),
  };
}

/** In the order of the tools; what is skipped or gone comes last. */
function changesOf(
  previous: HttpApiConfig | undefined,
  tools: readonly HttpTool[],
  skipped: OpenApiTools['skipped'],
): PinnedChange[] {
  const changes = tools.map((after): PinnedChange => {
    const { name, approval } = after;
    const before = previousOf(previous, after);
    const state = before === undefined ? 'new' : isDeepStrictEqual(before, after) ? 'same' : 'changed';
    return { name, approval, state, before, after, notes: [] };
  });
  const none = { approval: null, after: undefined };
  const left = skipped.map(({ reason, name, ...operation }): PinnedChange => {
    const before = previousOf(previous, operation);
    return { ...none, name: before?.name ?? name, state: 'skipped', before, notes: [reason] };
  });
  const known = [...changes, ...left].map(({ before }) => before);
  const gone = (previous?.tools ?? []).filter((tool) => !known.includes(tool));
  const removed = gone.map((before): PinnedChange => {
    return { ...none, name: before.name, state: 'removed', before, notes: [] };
  });
  return [...changes, ...left, ...removed];
}

function authWith(secret: string, previous: HttpApiConfig | undefined, { authOf }: OpenApiTools): ToolAuth {
  const auth = previous?.auth === undefined ? authOf(secret) : { ...previous.auth, secret };
  if (auth !== undefined) return auth;
  throw new Error(
    'The document does not say how requests carry the secret: write auth into the entry, then import without --secret',
  );
}

/** An operation is the same while its method and path are. */
const previousOf = (previous: HttpApiConfig | undefined, { method, path }: Operation) =>
  previous?.tools.find((tool) => tool.method === method && tool.path === path);

type Operation = Pick<OpenApiTools['skipped'][number], 'method' | 'path'>;

/** The operation as the document has it, with what the operator has written into the entry. */
function refreshed(tool: HttpTool, previous: HttpTool | undefined): HttpTool {
  if (previous === undefined) return tool;
  const parameters = tool.parameters.map((parameter) => {
    const written = previous.parameters.find(
      ({ in: location, name }) => location === parameter.in && name === parameter.name,
    );
    if (written?.fixed !== undefined) return written;
    return { ...parameter, ...(written?.allow_slash && { allow_slash: true }) };
  });
  const further = previous.parameters.filter(
    (each) => each.fixed !== undefined && !parameters.includes(each),
  );
  const taken = [...parameters, ...listOf(tool.body)].map((part) => own(part, 'argument'));
  const { properties, required, ...schema } = tool.input_schema;
  const used = Object.entries(Object(properties)).filter(([name]) => taken.includes(name));
  const needed = listOf(required).filter((name) => taken.includes(name));
  const input_schema = {
    ...{ ...schema, properties: Object.fromEntries(used) },
    ...(needed.length > 0 && { required: needed }),
  };
  const { name, approval, pick } = previous;
  const all = [...parameters, ...further];
  const merged = { ...tool, name, approval, parameters: all, ...(pick && { pick }), input_schema };
  return { ...merged, approval: isDeepStrictEqual(merged, previous) ? approval : 'always' };
}
