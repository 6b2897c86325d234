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
  /** Compares only the tools that the entry has: a new tool of the system is no change. */
  onlyPinned?: true;
  allow: HostAndPort[];
  baseUrl?: string;
}

/**
 * Compares the tools of a system with those of an entry.
 * @param written the entry's config; undefined for a new entry
 */
export type CompareTools = (
  address: string,
  options: ImportOptions,
  written: Readonly<Record<string, unknown>> | undefined,
) => Promise<{
  config: object;
  changes: readonly PinnedChange[];
  /** What an operator should know about the system, for `--json`. */
  about: object;
  /** The same for people. */
  lines: string[];
}>;

export const tableOf = tableWith<PinnedChange>({
  tool: ({ name }) => name,
  approval: ({ after }) => after?.approval ?? '',
  state: ({ state }) => state,
});

/** Lines with what has changed, and with the notes on the tools. */
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

/** The description, schema and request of a tool as text. Empty if there is no tool. */
function readable(pinned: PinnedChange['after']): string {
  if (pinned === undefined) return '';
  const { name: _, approval: _approval, description, input_schema, ...request } = pinned;
  const parts = [input_schema, request].map((each) => JSON.stringify(each, null, 2));
  return [description, ...parts, ''].join('\n');
}
