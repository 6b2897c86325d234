import type { HttpApiConfig } from '#contract/http-api.ts';
import { type HostAndPort, isHttpUrl } from '#contract/urls.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import type { PinnedChange } from '#domain/tools/pin-tools.ts';
import { remoteSystems } from '#runtime/composition/services.ts';
import { readInput } from '../read-json.ts';
import type { Result } from '../report.ts';
import { type ImportOptions, jsonOf, readAgentFile, tableOf, wordsOf } from '../tool-entries.ts';
import { importOpenApi, type WrittenConfig } from './import-openapi.ts';

export const httpType = 'consultant_call_http_api';

/** The documents of the largest APIs have 12 MB. */
const documentBytes = 16_000_000;

/** `tools import openapi`: writes or refreshes the entry of the document in agent.json. */
export async function importDocument(document: string, options: ImportOptions): Promise<Result> {
  const file = await readAgentFile<WrittenConfig>(options.file);
  const previous = file.entries.find(
    ({ type, config }) => type === httpType && config?.document === document,
  );
  const text = await readDocument(document, options.workspace, options.allow);
  const { config, changes } = await importOpenApi(text, { ...options, document }, previous?.config);
  await file.write(previous, { ...previous, type: httpType, config });
  return {
    json: { file: options.file, base_url: config.base_url, tools: changes.map(jsonOf) },
    lines: [`Requests are sent to ${config.base_url}`, ...tableOf(changes), ...wordsOf(changes)],
  };
}

/** What the document of an entry says now of the entry's tools. */
export async function changesOfDocument(workspaceId: string, config: HttpApiConfig): Promise<PinnedChange[]> {
  const { document } = config;
  if (document === undefined)
    throw new Error(`The entry of ${config.base_url} names no document to compare with`);
  const text = await readDocument(document, workspaceId, []);
  return (await importOpenApi(text, { document }, config)).changes;
}

async function readDocument(
  document: string,
  workspaceId: string,
  allow: readonly HostAndPort[],
): Promise<string> {
  if (!isHttpUrl(document)) return (await readInput(document)).toString();
  const { http, pool } = await remoteSystems(allow);
  try {
    const { signal } = new AbortController();
    const request = {
      workspaceId,
      url: new URL(document),
      method: 'GET',
      headers: {},
      auth: undefined,
      pool,
    } as const;
    const limits = { timeout: 60_000, maxBytes: documentBytes, signal };
    return await http.send({ ...request, ...limits }, async ({ status }, chunks) => {
      if (status !== 200) throw new OutboundFailure('refused', `${document} has the status ${status}`);
      return Buffer.concat(await Array.fromAsync(chunks)).toString();
    });
  } finally {
    pool.close();
  }
}

/** `tools call`: uses the tool as a reply to this user does. */
export async function callHttpTool(
  config: HttpApiConfig,
  name: string,
  args: unknown,
  caller: { workspaceId: string; user?: string | undefined },
): Promise<Result> {
  // A deferred import: the other commands send no requests of tools.
  const { useHttpTool } = await import('#runtime/composition/use-tool.ts');
  const index = config.tools.findIndex((tool) => tool.name === name);
  const result = await useHttpTool(config, index, args, caller);
  return { json: result, lines: JSON.stringify(result, null, 2).split('\n') };
}
