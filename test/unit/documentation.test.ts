import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const projectFolder = join(import.meta.dirname, '..', '..');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: projectFolder,
  encoding: 'utf8',
})
  .split('\n')
  .filter(Boolean);
const documents = tracked.filter((path) => path.endsWith('.md'));

/** Source files that a document names, by the whole path or the end of it: `runtime/http/read-form.ts`. */
const namedIn = (document: string): string[] =>
  [...readFileSync(join(projectFolder, document), 'utf8').matchAll(/`([\w./*-]+\.ts)`/g)].map(
    ([, path = '']) => path,
  );

test('every source file that the documentation names is there', () => {
  const named = documents.flatMap((document) => namedIn(document).map((path) => ({ document, path })));
  expect(named.length).toBeGreaterThan(50);
  const lost = named.filter(
    ({ path }) =>
      !/[*]|NAME/.test(path) && !tracked.some((file) => file === path || file.endsWith(`/${path}`)),
  );
  expect(lost.map(({ document, path }) => `${document}: ${path}`)).toEqual([]);
});

/** The targets of a document's links to other files of the project, without their anchors. */
const linkedIn = (document: string): string[] =>
  [...readFileSync(join(projectFolder, document), 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

test('every link of the documentation to a file leads to one', () => {
  const linked = documents.flatMap((document) => linkedIn(document).map((target) => ({ document, target })));
  expect(linked.length).toBeGreaterThan(50);
  const lost = linked.filter(
    ({ document, target }) => !existsSync(join(projectFolder, dirname(document), target)),
  );
  expect(lost.map(({ document, target }) => `${document}: ${target}`)).toEqual([]);
});
