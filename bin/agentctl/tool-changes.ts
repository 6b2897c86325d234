import { structuredPatch } from 'diff';
import type { HostAndPort } from '#contract/urls.ts';
import type { PinnedChange } from '#domain/tools/pin-tools.ts';
import { tableWith } from './text-table.ts';

export interface ImportOptions {
  workspace: string;
  name?: string;
  secret?: string;
  clientId?: string;
  only?: string[];
  /** A new tool of the system is then no change. */
  onlyPinned?: true;
  allow: HostAndPort[];
  baseUrl?: string;
}

/** @param written the entry's config; undefined for a new entry */
export type CompareTools = (
  address: string,
  options: ImportOptions,
  written: Readonly<Record<string, unknown>> | undefined,
) => Promise<{
  config: object;
  changes: readonly PinnedChange[];
  about: object;
  lines: string[];
}>;

export const tableOf = tableWith<PinnedChange>({
  tool: ({ name }) => name,
  approval: ({ after }) => after?.approval ?? '',
  state: ({ state }) => state,
});

export const wordsOf = (changes: readonly PinnedChange[]): string[] =>
  changes
    .filter(({ state }) => state !== 'same')
    .flatMap(({ name, before, after, notes }) => [
      `${name}:`,
      ...notes.map((note) => `  ! ${note}`),
      ...structuredPatch('', '', readable(before), readable(after), '', '', { context: 0 })
        .hunks.flatMap(({ lines }) => lines)
        .map((line) => `  ${line.replace(/^./, '$& ')}`),
    ]);

function readable(pinned: PinnedChange['after']): string {
  if (pinned === undefined) return '';
  const { name: _, approval: _approval, description, input_schema, ...request } = pinned;
  const parts = [input_schema, request].map((each) => JSON.stringify(each, null, 2));
  return [description, ...parts, ''].join('\n');
}
