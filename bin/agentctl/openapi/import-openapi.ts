import type * as z from 'zod';
import { describeIssues } from '#contract/describe-issues.ts';
import { type HttpTool, httpApiConfig } from '#contract/http-api.ts';
import type { ToolAuth } from '#contract/tools.ts';
import { isHttpUrl } from '#contract/urls.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { compareTools, type PinnedChange, uniqueName } from '#domain/tools/pin-tools.ts';
import { remoteSystems } from '#runtime/composition/services.ts';
import { getDocument } from '../discover-authorization.ts';
import { readInput } from '../read-json.ts';
import type { CompareTools, ImportOptions } from '../tool-changes.ts';
import { authOf, baseUrlOf, operationsOf, readOpenApi } from './convert-openapi.ts';

const limits = { timeout: 60_000, maxBytes: 16_000_000 };

export const compareDocument: CompareTools = async (document, options, written) => {
  const text = isHttpUrl(document)
    ? await fetchDocument(document, options)
    : (await readInput(document)).toString();
  const compared = await importOpenApi(text, document, options, written as WrittenConfig | undefined);
  const { base_url } = compared.config;
  return { ...compared, about: { base_url }, lines: [`Requests are sent to ${base_url}`] };
};

async function fetchDocument(document: string, { allow }: ImportOptions): Promise<string> {
  const { http } = await remoteSystems(allow);
  const { status, body } = await getDocument(http, new URL(document), limits);
  if (status !== 200) throw new OutboundFailure('refused', `${document} has the status ${status}`);
  return body.toString();
}

/** As a file has it: what has a default may be missing. */
export type WrittenConfig = z.input<typeof httpApiConfig>;

/**
 * @param document where the document is: a file, or an address
 * @param options.only ids of operations, with or without the prefix of the tools; by default the tools of the entry, or
 *   all for a new one
 * @param written undefined for a new entry
 * @returns `before`: the tools of the entry so far, with their defaults
 * @throws Error such as for a wrong config or document, or for an API without an address
 */
export async function importOpenApi(
  text: string,
  document: string,
  options: Pick<ImportOptions, 'name' | 'only' | 'secret' | 'baseUrl'>,
  written?: WrittenConfig,
): Promise<{ config: WrittenConfig; before: readonly HttpTool[]; changes: PinnedChange<HttpTool>[] }> {
  const { data: previous, error } = httpApiConfig.optional().safeParse(written, { reportInput: true });
  if (error !== undefined) throw new Error(`The entry in the file is wrong: ${describeIssues(error.issues)}`);
  const openApi = await readOpenApi(text);
  const { name: prefix = 'api', only, secret } = options;
  const baseUrl = options.baseUrl ?? previous?.base_url ?? baseUrlOf(openApi.document, document);
  if (baseUrl === undefined) throw new Error('The document has no address of its own: give --base-url');
  const auth: ToolAuth | undefined =
    secret === undefined ? previous?.auth : { ...(previous?.auth ?? authOf(openApi.document)), secret };
  const { headers = {}, tools: before = [] } = previous ?? {};
  const operations = operationsOf(openApi, prefix, { auth, headers, tools: before });
  const named = only?.map((each) => {
    const names = [each, `${prefix}_${each}`].map((name) => uniqueName(name, new Set()));
    const found = operations.find(({ name }) => names.includes(name));
    if (found === undefined) throw new Error(`The document has no operation ${each}`);
    return found;
  });
  const chosen = operations.filter((operation) =>
    named === undefined
      ? previous === undefined || operation.previous !== undefined
      : named.includes(operation),
  );
  const changes = compareTools(chosen, before);
  const tools = changes.flatMap(({ after }) => after ?? []);
  return {
    config: { ...written, base_url: baseUrl, document, ...(auth && { auth }), tools },
    ...{ before, changes },
  };
}
