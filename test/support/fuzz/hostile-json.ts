import type { Path, SchemaNode } from './schema-nodes.ts';

/** Texts that are JSON values, and texts that only resemble one. */
const hostile: readonly string[] = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '1',
  '-1',
  '1.5',
  '1e309',
  '-1e309',
  '1e-400',
  '123456789012345678901',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '2147483648',
  '01',
  '+1',
  '.5',
  '0x10',
  'NaN',
  'undefined',
  'Infinity',
  "'text'",
  '',
  '""',
  '" "',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00x"',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"null"',
  '"true"',
  '"0"',
  '"-1"',
  '"1e3"',
  '"\t"',
  '"\\x41"',
  ...['"2024-02-30T25:61:00Z"', '"../../etc/passwd"', '"%00"', '"\'; DROP TABLE chats; --"', '"<script>"'],
  ...['"{{7*7}}"', '"#:name"', '"W#other"', '"\\u202egnp.exe"', '"\\uFEFF"', '"\\u0085"'],
  '[]',
  '[null]',
  '[[]]',
  '[{}]',
  '{}',
  '{"__proto__":{"agent_id":"x"}}',
  '{"constructor":{"prototype":{}}}',
  ...['{"toString":null}', '{"length":5}', '{"0":"a","length":1}', '{"then":1}', '{"toJSON":1}', '{"":""}'],
  ...['"00000000-0000-0000-0000-000000000000"', '"ffffffff-ffff-ffff-ffff-ffffffffffff"'],
  ...['"urn:uuid:00000000-0000-4000-8000-000000000000"', '"00000000-0000-4000-8000-000000000000 "'],
  '"http://127.0.0.1/"',
  '"https://169.254.169.254/"',
  '"https://[::1]/"',
  '"https://user:pw@localhost/"',
  ...['"https://"', '"https:x"', '"HTTPS://0x7f.1/"', '"javascript:alert(1)"', '"file:///etc/passwd"'],
];

/** Values that are expensive to process: many bytes, many elements, or much depth. */
const large: readonly (() => string)[] = [
  () => JSON.stringify('m'.repeat(256 * 1024)),
  () => JSON.stringify('m'.repeat(256 * 1024 + 1)),
  () => JSON.stringify('é'.repeat(128 * 1024 + 1)),
  () => JSON.stringify('\u{1f600}'.repeat(70_000)),
  () => `"${'\\u0000'.repeat(50_000)}"`,
  () => `"${'\\ud83d'.repeat(50_000)}"`,
  () => `[${'0,'.repeat(100_000)}0]`,
  () => `[${'{},'.repeat(100_000)}{}]`,
  () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  () => `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  () => `{${Array.from({ length: 50_000 }, (_, index) => `"k${index}":${index}`).join()}}`,
  () => '9'.repeat(100_000),
  () => `1e${'9'.repeat(1000)}`,
];

/** Members that an object may have in addition to its own. */
const extraMembers: readonly string[] = [
  '"__proto__":{"isAdmin":true}',
  '"__proto__":null',
  '"constructor":{"prototype":{"x":1}}',
  '"hasOwnProperty":1',
  '"toString":"x"',
  '"workspaceId":"ws_other","workspace_id":"ws_other"',
  '"":0',
  '"\\u0000":0',
  '"\\ud800":0',
];

/** What is done to one location of a JSON text. */
export type Change =
  | { kind: 'replace'; text: string }
  | { kind: 'remove' }
  /** Adds a second member of the same name after the first one. */
  | { kind: 'repeat'; text: string }
  /** Adds other members in front. */
  | { kind: 'add'; members: string }
  | { kind: 'copy'; times: number };

/** All changes for a location of this schema, cheap and expensive ones. */
export function changesOf(node: SchemaNode, path: Path): { cheap: Change[]; expensive: (() => Change)[] } {
  const replace = (text: string): Change => ({ kind: 'replace', text });
  const cheap: Change[] = [...hostile, ...atLimits(node)].map(replace);
  if (path.length > 0) cheap.push({ kind: 'remove' });
  if (typeof path.at(-1) === 'string')
    cheap.push(...['null', '{}', '1'].map((text): Change => ({ kind: 'repeat', text })));
  if (node.type === 'object')
    // Three times each, so that they are chosen as often as all others: they reach deepest into the code.
    for (let repeated = 0; repeated < 3; repeated += 1)
      cheap.push(...extraMembers.map((members): Change => ({ kind: 'add', members })));
  const expensive = large.map((make) => () => replace(make()));
  if (node.type === 'array') {
    cheap.push({ kind: 'copy', times: 2 });
    const { maxItems = 1000 } = node;
    expensive.push(
      ...[maxItems, maxItems + 1, 20_000].map((times) => (): Change => ({ kind: 'copy', times })),
    );
  }
  return { cheap, expensive };
}

function atLimits({ type, minLength, maxLength, minimum, maximum, enum: values }: SchemaNode): string[] {
  const texts: string[] = [];
  if (type === 'string' && maxLength !== undefined)
    for (const character of ['x', '\u{1f600}', 'e\u0301'])
      for (const length of [maxLength - 1, maxLength, maxLength + 1])
        texts.push(JSON.stringify(Array.from(character.repeat(length)).slice(0, length).join('')));
  if (minLength !== undefined && minLength > 0) texts.push('""');
  if (minimum !== undefined) texts.push(String(minimum - 1), String(minimum), `"${minimum}"`, `${minimum}.5`);
  if (maximum !== undefined) texts.push(String(maximum), String(maximum + 1));
  for (const value of values ?? [])
    texts.push(JSON.stringify(String(value).toUpperCase()), `[${JSON.stringify(value)}]`);
  return texts;
}

/** The JSON text of a value with one location changed. */
export function write(value: unknown, at: Path | undefined, change: Change): string {
  if (at?.length === 0 && change.kind === 'replace') return change.text;
  if (Array.isArray(value)) return writeArray(value, at, change);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return writeObject(value as Record<string, unknown>, at, change);
}

function writeArray(value: readonly unknown[], at: Path | undefined, change: Change): string {
  const items = value.flatMap((item, index) => membersOf(item, at, index, change));
  if (at?.length !== 0 || change.kind !== 'copy') return `[${items.join()}]`;
  const copies = Array.from({ length: change.times }, () => items).flat();
  return `[${copies.slice(0, Math.max(change.times, items.length)).join()}]`;
}

function writeObject(value: Readonly<Record<string, unknown>>, at: Path | undefined, change: Change): string {
  const keys = Object.keys(value);
  // A change may add a location that the value does not have.
  const [missing] = at ?? [];
  if (typeof missing === 'string' && at?.length === 1 && !keys.includes(missing)) keys.push(missing);
  const members = keys.flatMap((key) =>
    membersOf(value[key], at, key, change).map((text) => `${JSON.stringify(key)}:${text}`),
  );
  if (at?.length === 0 && change.kind === 'add') members.unshift(change.members);
  return `{${members.join()}}`;
}

function membersOf(value: unknown, at: Path | undefined, step: string | number, change: Change): string[] {
  const rest = at !== undefined && at[0] === step ? at.slice(1) : undefined;
  if (rest?.length === 0 && change.kind === 'remove') return [];
  const text = write(value, rest, change) ?? 'null';
  return rest?.length === 0 && change.kind === 'repeat' ? [text, change.text] : [text];
}
