import { closest, distance } from 'fastest-levenshtein';
import type * as z from 'zod';
import { type SettingLine, settingLines } from './setting-lines.ts';

export class WrongSettings extends Error {
  override name = 'WrongSettings';
}

export function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  given: unknown,
  groups: readonly z.core.$ZodShape[],
): string[] {
  const lines = groups.flatMap(settingLines);
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [describeValue(issue, given, lines)];
    const prefix = issue.path.map((step) => `${String(step)}.`).join('');
    const names = namesOf(lines, prefix);
    return issue.keys.map((key) => `${prefix}${describeUnknown(key, names)}`);
  });
}

const maxDifference = 3;

export function describeUnknown(name: string, names: readonly string[]): string {
  const nearest = closest(name, names);
  const isNear = names.length > 0 && distance(name, nearest) <= Math.min(maxDifference, name.length / 2);
  return `${name}: no such setting; ${isNear ? `did you mean ${nearest}?` : 'docs/settings.md has all'}`;
}

function describeValue(issue: z.core.$ZodIssue, given: unknown, lines: readonly SettingLine[]): string {
  const value = valueAt(given, issue.path);
  const path = issue.path.map(String).join('.');
  const allowed = isOwnMessage(issue) ? issue.message : expectedAt(issue, lines);
  if (value !== undefined) return `${path}: ${allowed}; it is ${formatValue(value)}`;
  return issue.code === 'custom' ? `${path}: ${allowed}` : `${path}: missing; ${allowed}`;
}

const isOwnMessage = ({ code, message }: z.core.$ZodIssue): boolean =>
  code === 'custom' || message.startsWith('must ');

function expectedAt({ path, message }: z.core.$ZodIssue, lines: readonly SettingLine[]): string {
  const name = path.filter((step) => typeof step === 'string').join('.');
  const found = lines.filter((line) => namedBy(line) === name);
  if (found.length === 0) return message;
  const expected = found.flatMap(({ type, limits }) => [type, limits]).filter((text) => text !== '');
  return `expected ${expected.join(', ').replaceAll('`', '')}`;
}

const namedBy = ({ path }: SettingLine): string => /^`([^`]+)`/.exec(path)?.[1] ?? '';

const namesOf = (lines: readonly SettingLine[], prefix: string): string[] =>
  lines
    .map(namedBy)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((name) => !name.includes('.'));

const valueAt = (given: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined),
    given,
  );

const maxCharacters = 80;

function formatValue(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}
