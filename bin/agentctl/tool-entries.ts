import { writeFile } from 'node:fs/promises';
import { diffLines } from 'diff';
import type { HostAndPort } from '#contract/urls.ts';
import type { PinnedChange } from '#domain/tools/pin-tools.ts';
import { readJson } from './read-json.ts';
import { textTable } from './text-table.ts';

export interface ImportOptions {
  workspace: string;
  file: string;
  name?: string;
  secret?: string;
  clientId?: string;
  only?: string[];
  allow: HostAndPort[];
  baseUrl?: string;
}

interface Entry<Config> {
  type?: string;
  config?: Config;
}

/** The entries of an agent.json, with configs of this form. */
export async function readAgentFile<Config>(path: string) {
  const file = (await readJson(path)) as { unified_tools?: Entry<Config>[] };
  const entries = file.unified_tools ?? [];
  return {
    entries,
    /** Replaces an entry, or adds one at the end. */
    async write(previous: Entry<Config> | undefined, entry: Entry<object>): Promise<void> {
      const unified_tools = previous
        ? entries.map((each) => (each === previous ? entry : each))
        : [...entries, entry];
      await writeFile(path, `${JSON.stringify({ ...file, unified_tools }, null, 2)}\n`);
    },
  };
}

/** For `--json`. */
export const jsonOf = ({ name, approval, state, notes }: PinnedChange) => ({ name, approval, state, notes });

export const tableOf = (changes: readonly PinnedChange[]): string[] =>
  textTable(
    ['tool', 'approval', 'state'],
    changes.map(({ name, approval, state }) => [name, approval ?? '', state]),
  );

/** Every word that has changed. */
export const wordsOf = (changes: readonly PinnedChange[]): string[] =>
  changes
    .filter(({ state }) => state !== 'same')
    .flatMap(({ name, before, after, notes }) => [
      `${name}:`,
      ...notes.map((note) => `  ! ${note}`),
      ...diffLines(readable(before), readable(after))
        .filter(({ added, removed }) => added || removed)
        .flatMap(({ added, value }) =>
          value
            .trimEnd()
            .split('\n')
            .map((line) => `  ${added ? '+' : '-'} ${line}`),
        ),
    ]);

/** All that the model and the system get. */
function readable(pinned: PinnedChange['after']): string {
  if (pinned === undefined) return '';
  const { name: _, approval: _approval, description, input_schema, ...request } = pinned;
  return [description, ...[input_schema, request].map((each) => JSON.stringify(each, null, 2)), ''].join(
    '\n',
  );
}
