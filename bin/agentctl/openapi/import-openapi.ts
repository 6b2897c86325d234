import type * as z from 'zod';
import { describeIssues } from '#contract/describe-issues.ts';
import { type HttpTool, httpApiConfig } from '#contract/http-api.ts';
import { listOf, own } from '#contract/json-schema-rules.ts';
import { toolLimits } from '#contract/tools.ts';
import { compareTools, type LiveTool, type PinnedChange } from '#domain/tools/pin-tools.ts';
import { convertOpenApi } from './convert-openapi.ts';

interface ImportOptions {
  /** Where the document is: a file, or an address. */
  document: string;
  /** The start of the names of new tools. Default: `api`. */
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
 * names, fixed parameters, `allow_slash`, picked fields and approvals. The approval of a tool that has changed is
 * `always`.
 * @param text the document
 * @param written the entry's config so far; undefined for a new entry
 * @returns also the tools of the entry so far, with their defaults, and the changes
 * @throws Error if the written config is wrong, as `convertOpenApi`, if the API has no address, or if there are none of
 *   the operations or more than an agent may have
 */
export async function importOpenApi(
  text: string,
  options: ImportOptions,
  written?: WrittenConfig,
): Promise<{ config: WrittenConfig; before: readonly HttpTool[]; changes: PinnedChange<HttpTool>[] }> {
  const { data: previous, error } = httpApiConfig.optional().safeParse(written, { reportInput: true });
  if (error !== undefined) throw new Error(`The entry in the file is wrong: ${describeIssues(error.issues)}`);
  const { document, name: prefix = 'api', only, secret } = options;
  const { auth, tools, skipped, ...found } = await convertOpenApi(text, {
    ...{ prefix, secret, address: URL.parse(document) ?? undefined },
    ...{ auth: previous?.auth, headers: previous?.headers },
  });
  const baseUrl = options.baseUrl ?? previous?.base_url ?? found.baseUrl;
  if (baseUrl === undefined) throw new Error('The document has no address of its own: give --base-url');
  const before = previous?.tools ?? [];
  /** An operation is the same while its method and path are. */
  const previousOf = ({ method, path }: { method: string; path: string }) =>
    before.find((tool) => tool.method === method && tool.path === path);
  const live = [
    ...tools.map((tool): LiveTool<HttpTool> => {
      const same = previousOf(tool);
      return { name: tool.name, tool: same ? refreshed(tool, same) : tool, previous: same, notes: [] };
    }),
    ...skipped.map((operation): LiveTool<HttpTool> => {
      const { name, reason } = operation;
      return { name, tool: undefined, previous: previousOf(operation), notes: [reason] };
    }),
  ];
  const isChosen = (tool: LiveTool<HttpTool>): boolean =>
    only === undefined
      ? previous === undefined || tool.previous !== undefined
      : only.some((each) => [each, `${prefix}_${each}`].includes(tool.name));
  const changes = compareTools(live.filter(isChosen), before);
  const chosen = changes.flatMap(({ after }) => after ?? []);
  if (chosen.length === 0) throw new Error('The document has none of the operations');
  if (chosen.length > toolLimits.offers)
    throw new Error(
      `There are ${chosen.length} operations, and an agent may have ${toolLimits.offers} tools: choose some with --only`,
    );
  return {
    config: { ...written, base_url: baseUrl, document, ...(auth && { auth }), tools: chosen },
    ...{ before, changes },
  };
}

/** The operation as the document has it, with the fixed parameters, `allow_slash` and `pick` of the entry. */
function refreshed(tool: HttpTool, { parameters: written, pick }: HttpTool): HttpTool {
  const parameters = tool.parameters.map((parameter) => {
    const same = written.find((each) => each.in === parameter.in && each.name === parameter.name);
    if (same?.fixed !== undefined) return same;
    return { ...parameter, ...(same?.allow_slash && { allow_slash: true }) };
  });
  const further = written.filter((each) => each.fixed !== undefined && !parameters.includes(each));
  const given = [...parameters, ...listOf(tool.body)].map((part) => own(part, 'argument'));
  const { properties, required, ...schema } = tool.input_schema;
  const used = Object.entries(Object(properties)).filter(([name]) => given.includes(name));
  const needed = listOf(required).filter((name) => given.includes(name));
  return {
    ...{ ...tool, parameters: [...parameters, ...further], ...(pick && { pick }) },
    input_schema: {
      ...{ ...schema, properties: Object.fromEntries(used) },
      ...(needed.length > 0 && { required: needed }),
    },
  };
}
