import { type ExecFileOptionsWithStringEncoding, execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const run = (
  file: string,
  words: readonly string[],
  options: ExecFileOptionsWithStringEncoding = { encoding: 'utf8' },
) =>
  promisify(execFile)(file, words, options).catch(({ stdout, stderr }: Record<string, unknown>) => {
    throw new Error(`${file} ${words.join(' ')} failed:\n${stdout}${stderr}`);
  });
const folder = 'docs/recipes';

interface Step {
  recipe: string;
  path: string;
  /** `diff`: lines to add and to remove between lines that stay; else the whole file. */
  language: string;
  text: string;
}

/** A paragraph that starts with a path in bold names the file of the next block of code. */
function stepsOf(recipe: string, document: string): Step[] {
  const part = /^\*\*(\S+)\*\*|^```(\w+)\n([\s\S]*?)^```$/gm;
  const steps: Step[] = [];
  let named: string | undefined;
  for (const [, path, language = '', text = ''] of document.matchAll(part)) {
    if (path === undefined && named !== undefined) steps.push({ recipe, path: named, language, text });
    named = path;
  }
  return steps;
}

/** The spaces that align a table. */
const plain = (line: string): string => line.replaceAll(/ +/g, ' ');

/**
 * The file with each part of the step done; `@@` stands between two parts. Lines begin with ` `, `-` or `+`. Those with ` `
 * and `-` are in the file once, one after the other.
 */
function patched(source: string, { recipe, path, text }: Step): string {
  const lines = source.split('\n');
  for (const part of text.split(/^@@\n/m)) {
    const changes = part.split('\n').slice(0, -1);
    const before = changes.filter((line) => !line.startsWith('+')).map((line) => plain(line.slice(1)));
    const positions = [...lines.keys()].filter((at) =>
      before.every((line, index) => line === plain(lines[at + index] ?? '')),
    );
    const [first = 0] = positions;
    if (positions.length !== 1)
      throw new Error(`${recipe}: ${path} has these lines ${positions.length} times:\n${before.join('\n')}`);
    let at = first;
    for (const change of changes)
      if (change.startsWith('+')) lines.splice(at++, 0, change.slice(1));
      else if (change.startsWith('-')) lines.splice(at, 1);
      else at += 1;
  }
  return lines.join('\n');
}

async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'recipes-'));
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard']);
  for (const path of stdout.split('\n').filter((line) => line !== '')) {
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await copyFile(path, join(copy, path));
  }
  await symlink(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

it('can be followed to the letter, one after the other, in one copy of the project', {
  timeout: 300_000,
}, async () => {
  const copy = await copyProject();
  onTestFinished(() => rm(copy, { recursive: true }));
  const recipes = [
    'add-a-route.md',
    'add-a-tool.md',
    'add-a-tool-kind.md',
    'add-a-batch-field.md',
    'add-a-setting.md',
    'add-a-model-provider.md',
  ];
  const documents = await Promise.all(recipes.map((name) => readFile(join(folder, name), 'utf8')));
  const steps = recipes.flatMap((name, index) => stepsOf(name, documents[index] ?? ''));
  expect(new Set(steps.map(({ recipe }) => recipe))).toEqual(new Set(recipes));
  for (const step of steps) {
    const path = join(copy, step.path);
    const isPatch = step.language === 'diff';
    const text = isPatch ? patched(await readFile(path, 'utf8'), step) : step.text;
    await writeFile(path, text, { flag: isPatch ? 'w' : 'wx' });
  }
  const options = { cwd: copy, maxBuffer: 64 * 1024 * 1024 };
  for (const script of ['openapi', 'client:types', 'cost', 'settings'])
    await run('npm', ['run', '--silent', script], options);
  // As `npm run format` does, which finds all other files formatted: `check` proves it.
  const written = new Set(steps.map(({ path }) => path));
  await run('npx', ['biome', 'check', '--write', ...written], options);
  await run('npm', ['run', '--silent', 'check'], options);
  const tests = steps.map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));
  const { VITEST: _, PERMISSION_NOTES: __, ...env } = process.env;
  await run('npx', ['vitest', 'run', '--project', 'service', '--project', 'unit', ...tests], {
    ...options,
    env,
  });
});
