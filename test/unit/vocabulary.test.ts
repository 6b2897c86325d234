import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';

const projectFolder = join(import.meta.dirname, '..', '..');

/** Words that identifiers must not contain, each with the field's standard words (docs/glossary.md). */
const standardWords: readonly (readonly [words: string, standard: string])[] = [
  ['answer answers answered answering', 'response, respond; reply for what an agent says'],
  ['refuse refuses refused refusing refusal refusals', 'reject, deny'],
  ['judge judges judged judging', 'evaluate, check'],
  ['admit admits admitted', 'check the rate limit'],
  ['tell tells telling told', 'return, emit, log, report'],
  ['hear hears heard hearing', 'receive'],
  ['ask asks asked asking', 'call, request, send'],
  ['row rows', 'item, batch item, request, line'],
  ['begin begins began begun beginning', 'start'],
  ['engine engines', 'emulator'],
  ['again tries', 'retry, attempt'],
  ['who whoever whatever nobody somebody', 'the subject itself'],
  ['look looks looked looking', 'check, poll, search'],
  ['late later seldom', 'deferred, lazy, a timeout'],
  ['beside besides behind', 'concurrently with, next to, after'],
  ['earlier', 'previous'],
  ['outline outlines', 'manifest'],
  ['gate gates', 'rate limiter, checkpoint'],
  ['moment moments', 'time'],
  ['settle settles settled settling', 'close, finish'],
  ['wake wakes woken waking', 'complete the task callback'],
  ['undertaker', 'dead-letter handler'],
  ['seal seals sealed sealer', 'encrypt'],
  ['piece pieces', 'chunk, delta, segment'],
  ['keep keeps kept keeping', 'store, retain, cache'],
  ['hold holds held holding', 'buffer, contain, own'],
  ['place places', 'slot, position, location'],
];

const forbidden = new Map(
  standardWords.flatMap(([words, standard]) => words.split(' ').map((word) => [word, standard])),
);

/** Identifiers that contain one of the words all the same. */
const allowed: Readonly<Record<string, string>> = {
  keepAlive: 'option of Node.js',
  tries: 'option of Node.js',
  keepAliveTimeout: 'option of Node.js',
  setKeepAlive: 'method of Node.js',
  keepAliveMilliseconds: 'value of the option of Node.js',
  KEEP_ALIVE_MILLISECONDS: 'value of the option of Node.js',
  keepStack: 'option of @streamparser/json',
  allSettled: 'method of JavaScript',
  EAI_AGAIN: 'code of Node.js',
  PromiseSettledResult: 'type of TypeScript',
  place: 'field of a problem of a schema',
  places: 'function of the tests',
  kept: 'tag of stored objects',
  refusal: 'field of OpenAI',
  refused: 'value of a metric dimension',
  again: 'option of agentctl',
  earlier_batches: 'field of the JSON output of agentctl',
  BatchesDispatcherWakes: 'logical id',
  Asked: 'logical id of a fixture',
  ANSWERS_PREFLIGHTS: 'environment variable',
  answer: 'field of a frozen fixture',
  answers: 'field of SearXNG',
};

const segmentsOf = (identifier: string): string[] =>
  identifier
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
    .split(' ');

const listing = ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.js'];
const paths = execFileSync('git', listing, { cwd: projectFolder, encoding: 'utf8' })
  .split('\n')
  .filter(Boolean);

/** A file in which each identifier is. */
const identifiers = new Map<string, string>();
for (const path of paths) {
  const { program, errors } = parseSync(path, readFileSync(join(projectFolder, path), 'utf8'));
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  new Visitor({
    Identifier: ({ name }) => void identifiers.set(name, path),
    PrivateIdentifier: ({ name }) => void identifiers.set(name, path),
  }).visit(program);
}

test('identifiers have the words of the field', () => {
  expect(identifiers.size).toBeGreaterThan(5000);
  const wrong = [...identifiers].flatMap(([identifier, path]) =>
    allowed[identifier] === undefined
      ? segmentsOf(identifier)
          .filter((segment) => forbidden.has(segment))
          .map((segment) => `${path}: ${identifier}: instead of ${segment} say ${forbidden.get(segment)}`)
      : [],
  );
  expect(wrong).toEqual([]);
});

test('every exception is used', () => {
  expect(Object.keys(allowed).filter((identifier) => !identifiers.has(identifier))).toEqual([]);
});
