import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';
import { chatCompletionRequest } from '#contract/openai.ts';

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

const types = 'node_modules/openai/resources/chat/completions/completions.d.ts';

/** The parameters of chat completions in the types of OpenAI's client. */
function parametersOfClient(): string[] {
  const { program, errors } = parseSync(types, readFileSync(join(projectFolder, types), 'utf8'));
  expect(errors).toEqual([]);
  const names: string[] = [];
  new Visitor({
    TSInterfaceDeclaration({ id, body }) {
      if (id.name !== 'ChatCompletionCreateParamsBase') return;
      for (const member of body.body)
        if (member.type === 'TSPropertySignature' && member.key.type === 'Identifier')
          names.push(member.key.name);
    },
  }).visit(program);
  return names;
}

const document = readFileSync(join(projectFolder, 'docs/openai.md'), 'utf8');
const effects = new Map(
  [...document.matchAll(/^\| `(\w+)` +\| (passed on|bounded|without effect|rejected) +\|/gm)].map(
    ([, name = '', effect = '']) => [name, effect],
  ),
);

test('docs/openai.md has a row with one of four words for each parameter of OpenAI’s client', () => {
  const names = parametersOfClient();
  expect(names.length).toBeGreaterThan(30);
  expect([...effects.keys()].toSorted()).toEqual(names.toSorted());
});

test('what has an effect, or is rejected, is in the schema, and nothing else is', () => {
  const effective = [...effects].filter(([, effect]) => effect !== 'without effect').map(([name]) => name);
  expect(Object.keys(chatCompletionRequest.shape).toSorted()).toEqual(effective.toSorted());
});

test('docs/openai.md has the versions of the clients that `npm run test:clients` drives', () => {
  const textOf = (name: string) => readFileSync(join(projectFolder, 'test/clients/openai', name), 'utf8');
  const packages = ['node', 'promptfoo'].flatMap((folder): [string, string][] =>
    Object.entries(JSON.parse(textOf(`${folder}/package.json`)).dependencies),
  );
  const requirements = ['python', 'instructor'].flatMap((folder) =>
    textOf(`${folder}/requirements.txt`)
      .trim()
      .split('\n')
      .map((line) => line.replace(/\[.*\]/, '').split('==') as [string, string]),
  );
  const versions = [...packages, ...requirements].filter(([name]) => !/langchain.core/.test(name));
  expect(versions).toHaveLength(15);
  for (const [name, version] of versions) {
    expect(document, name).toContain(`\`${name}\``);
    expect(document, `${name} ${version}`).toContain(` ${version}`);
  }
});
