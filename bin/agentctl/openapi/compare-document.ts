import { isHttpUrl } from '#contract/urls.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { remoteSystems } from '#runtime/composition/services.ts';
import { getDocument } from '../discover-authorization.ts';
import { readInput } from '../read-json.ts';
import type { CompareTools, ImportOptions } from '../tool-changes.ts';
import { importOpenApi, type WrittenConfig } from './import-openapi.ts';

/** Limits of a document that is fetched, in milliseconds and bytes. The documents of the largest APIs have 12 MB. */
const limits = { timeout: 60_000, maxBytes: 16_000_000 };

/** Compares the operations of an OpenAPI document, a file or an address, with those of an entry. */
export const compareDocument: CompareTools = async (document, options, written) => {
  const text = await readDocument(document, options);
  const { config, before, changes } = await importOpenApi(
    text,
    { ...options, document },
    written as WrittenConfig | undefined,
  );
  const { base_url } = config;
  return { config, before, changes, about: { base_url }, lines: [`Requests are sent to ${base_url}`] };
};

async function readDocument(document: string, { allow }: Pick<ImportOptions, 'allow'>): Promise<string> {
  if (!isHttpUrl(document)) return (await readInput(document)).toString();
  const { http } = await remoteSystems(allow);
  const { status, body } = await getDocument(http, new URL(document), limits);
  if (status !== 200) throw new OutboundFailure('refused', `${document} has the status ${status}`);
  return body.toString();
}
