/**
 * `npm run advisories [-- LOCK_FILE ...]`: compares the packages of lock files with `.ci/advisories.json`, whose entries
 * have OSV's form. docs/dependencies.md says what the list knows and how to refresh it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { satisfies } from 'semver';

type Event = Partial<Record<'introduced' | 'fixed' | 'last_affected', string>>;

interface Advisory {
  id: string;
  summary: string;
  affected: {
    package: { ecosystem: string; name: string };
    ranges?: { type: string; events: Event[] }[];
    versions?: string[];
  }[];
}

const root = join(import.meta.dirname, '../..');
const list: { written: string; refreshed: string | null; advisories: Advisory[] } = JSON.parse(
  readFileSync(join(root, '.ci/advisories.json'), 'utf8'),
);

/** OSV's events in the order of their versions: each `introduced` holds until the event that follows it. */
const rangeOf = (events: readonly Event[]): string =>
  events
    .map(({ introduced, fixed, last_affected: last }) => {
      if (introduced !== undefined) return `||>=${introduced === '0' ? '0.0.0-0' : introduced}`;
      return fixed === undefined ? `<=${last}` : `<${fixed}`;
    })
    .join(' ')
    .replace(/^\|\|/, '');

const affects = ({ affected }: Advisory, name: string, version: string): boolean =>
  affected.some(
    ({ package: { ecosystem, name: affectedName }, ranges = [], versions = [] }) =>
      ecosystem === 'npm' &&
      affectedName === name &&
      (versions.includes(version) ||
        ranges.some(
          ({ type, events }) =>
            type === 'SEMVER' && satisfies(version, rangeOf(events), { includePrerelease: true }),
        )),
  );

const fixesOf = ({ affected }: Advisory): string =>
  affected
    .flatMap(({ ranges = [] }) => ranges.flatMap(({ events }) => events.flatMap(({ fixed }) => fixed ?? [])))
    .join(', ') || 'no version';

let packages = 0;
const found: string[] = [];
for (const file of process.argv.length > 2 ? process.argv.slice(2) : [join(root, 'package-lock.json')]) {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as {
    packages: Record<string, { name?: string; version?: string; link?: true }>;
  };
  for (const [path, { name = path.replace(/^.*node_modules\//, ''), version, link }] of Object.entries(
    lock.packages,
  )) {
    if (!path.includes('node_modules/') || version === undefined || link) continue;
    packages += 1;
    for (const advisory of list.advisories)
      if (affects(advisory, name, version))
        found.push(
          `${name} ${version} (${path}): ${advisory.id}, ${advisory.summary}. Fixed in ${fixesOf(advisory)}.`,
        );
  }
}
if (packages === 0) throw new Error('The lock files name no package');
for (const line of found) console.error(line);
console.log(
  `${packages} packages, ${list.advisories.length} advisories (written by hand on ${list.written}, ${
    list.refreshed === null ? 'never refreshed from a database' : `refreshed on ${list.refreshed}`
  }): ${found.length} apply`,
);
process.exitCode = found.length > 0 ? 1 : 0;
