import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const projectFolder = join(import.meta.dirname, '..', '..');

/** What the files of a room may import in addition to the room's own files: other rooms, single files, and packages. */
interface Room {
  folder: string;
  rooms: readonly string[];
  files?: readonly string[];
  /** All packages if absent. */
  packages?: readonly string[];
}

const handlers = { rooms: ['contract', 'domain', 'runtime'] };

const rooms: Readonly<Record<string, Room>> = {
  contract: { folder: 'functions/contract', rooms: [], packages: ['zod'] },
  domain: { folder: 'functions/domain', rooms: ['contract'], packages: ['zod', 'node:crypto', 'node:util'] },
  agents: { folder: 'functions/agents', rooms: ['contract', 'domain'] },
  adapters: { folder: 'functions/adapters', rooms: ['contract', 'domain'] },
  runtime: { folder: 'functions/runtime', rooms: ['contract', 'domain', 'agents', 'adapters'] },
  http: { folder: 'functions/http', ...handlers },
  web: { folder: 'functions/web', ...handlers },
  queues: { folder: 'functions/queues', ...handlers },
  workflow: { folder: 'functions/workflow', ...handlers },
  schedules: { folder: 'functions/schedules', ...handlers },
  tasks: { folder: 'functions/tasks', ...handlers },
  lib: {
    folder: 'lib',
    rooms: ['contract'],
    files: ['functions/runtime/environment/variables.ts', 'functions/runtime/observability/metric-names.ts'],
  },
  /** The client library, which users install without the rest. */
  client: {
    folder: 'lib/client',
    rooms: [],
    packages: ['esbuild', 'node:child_process', 'node:fs', 'node:path'],
  },
  local: { folder: 'local', rooms: [] },
  /** The page of a local run, which runs in browsers alone. */
  playground: {
    folder: 'bin/local/playground',
    // Types alone.
    rooms: ['client'],
    packages: ['/markdown-it.js', '/jsdiff/diff/line.js'],
  },
  bin: { folder: 'bin', rooms: ['contract', 'domain', 'runtime', 'lib', 'client', 'local'] },
  test: {
    folder: 'test',
    rooms: ['contract', 'domain', 'agents', 'adapters', 'runtime', 'http', 'lib', 'client', 'local', 'bin'],
  },
};

interface SourceFile {
  path: string;
  room: string;
  text: string;
  /** The import specifiers as written. */
  imports: string[];
  /** The project's files that the imports resolve to. */
  targets: string[];
}

/** Import and re-export statements, which Biome's formatter starts in the first column, and imports at run time. */
const importPattern =
  /^(?:import|export)\b[^'"`;]*?\bfrom\s*'([^']+)'|^import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

/** The room with the longest folder that contains the file. */
const roomAt = (path: string): string | undefined =>
  Object.entries(rooms)
    .filter(([, { folder }]) => path.startsWith(`${folder}/`))
    .toSorted(([, one], [, other]) => other.folder.length - one.folder.length)[0]?.[0];

/** What the build of the client library has written. */
const isMade = (name: string): boolean => /(^|\/)dist\//.test(name);

function readRoom(room: string, folder: string): SourceFile[] {
  if (!existsSync(join(projectFolder, folder))) return [];
  return readdirSync(join(projectFolder, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[jt]s$/.test(name) && !isMade(name) && roomAt(join(folder, name)) === room)
    .map((name) => {
      const text = readFileSync(join(projectFolder, folder, name), 'utf8');
      const imports = [...text.matchAll(importPattern)].map(
        (match) => match[1] ?? match[2] ?? match[3] ?? '',
      );
      const path = join(folder, name);
      const targets = imports
        .map((specifier) => resolve(path, specifier))
        .filter((target) => target !== undefined);
      return { path, room, text, imports, targets };
    });
}

const files = Object.entries(rooms).flatMap(([room, { folder }]) => readRoom(room, folder));
const filesOf = (...names: string[]) => files.filter(({ room }) => names.includes(room));
const roomOf = new Map(files.map(({ path, room }) => [path, room]));

/** The project's file that an import resolves to; undefined for a package. */
function resolve(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return normalize(join(dirname(importer), specifier));
  if (!specifier.startsWith('#')) return undefined;
  const [alias = '', ...rest] = specifier.split('/');
  const target = Object.entries(manifest.imports).find(([pattern]) => pattern === `${alias}/*`)?.[1];
  return target === undefined ? specifier : normalize(target.replace('*', rest.join('/')));
}

const packageOf = (specifier: string): string => {
  // A file that the run serves next to the playground.
  if (specifier.startsWith('/')) return specifier;
  const [first = '', second = ''] = specifier.split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
};

test('every room that has been built is looked at', () => {
  const seen = Object.fromEntries(Object.keys(rooms).map((room) => [room, filesOf(room).length]));
  expect(Object.keys(seen).filter((room) => seen[room] === 0)).toEqual([]);
  const built = readdirSync(join(projectFolder, 'functions')).map((folder) => `functions/${folder}`);
  expect(Object.values(rooms).map(({ folder }) => folder)).toEqual(expect.arrayContaining(built));
  expect(files.length).toBeGreaterThan(100);
  expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(400);
});

describe.each(Object.entries(rooms))('%s', (room, allowed) => {
  test(`imports only ${allowed.rooms.join(', ') || 'itself'}${allowed.packages ? ' and its packages' : ''}`, () => {
    const forbidden = filesOf(room).flatMap(({ path, imports }) =>
      imports
        .filter((specifier) => {
          const target = resolve(path, specifier);
          if (target === undefined) return allowed.packages?.includes(packageOf(specifier)) === false;
          const other = roomOf.get(target);
          return (
            other !== undefined &&
            other !== room &&
            !allowed.rooms.includes(other) &&
            allowed.files?.includes(target) !== true
          );
        })
        .map((specifier) => `${path} → ${specifier}`),
    );
    expect(forbidden).toEqual([]);
  });
});

test('commands use the public interface of the runner alone', () => {
  const { exports } = JSON.parse(readFileSync(join(projectFolder, 'local/package.json'), 'utf8'));
  const open = Object.values<string>(exports).map((file) => join('local', file));
  const used = new Set(
    filesOf('bin').flatMap(({ targets }) => targets.filter((target) => roomOf.get(target) === 'local')),
  );
  expect(used.size).toBeGreaterThan(3);
  expect([...used].filter((target) => !open.includes(target))).toEqual([]);
});

const functionRooms = Object.keys(rooms).filter((room) => rooms[room]?.folder.startsWith('functions/'));

/** The floors of a folder, lowest first. A room imports files of its own and of the floors below. */
const floors: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'functions/domain': [
    ['platform'],
    ['workspaces', 'webhooks', 'tools'],
    ['agents', 'files'],
    ['knowledge', 'chats'],
    ['batches', 'completions'],
    ['erasure'],
  ],
  'functions/adapters/dynamo': [
    ['table', 'item-client'],
    ['workspaces', 'files'],
    ['agents', 'knowledge', 'webhooks', 'chats'],
    ['batches'],
    ['erasure'],
  ],
  'functions/runtime': [['environment'], ['observability'], ['composition'], ['http'], ['routes']],
};

describe.each(Object.entries(floors))('%s', (folder, levels) => {
  const floorOf = new Map(levels.flatMap((names, floor) => names.map((name) => [name, floor] as const)));
  const nameOf = (path: string): string => path.slice(folder.length + 1).split('/')[0] ?? '';
  const inside = files.filter(({ path }) => path.startsWith(`${folder}/`));

  test('has these rooms and no other', () => {
    expect(readdirSync(join(projectFolder, folder)).toSorted()).toEqual([...floorOf.keys()].toSorted());
  });

  test('has imports that lead down alone', () => {
    const level = (path: string): number => floorOf.get(nameOf(path)) ?? Number.NaN;
    const arrows = inside.flatMap(({ path, targets }) =>
      targets
        .filter((target) => target.startsWith(`${folder}/`) && nameOf(target) !== nameOf(path))
        .map((target) => ({ path, target })),
    );
    expect(arrows.length).toBeGreaterThan(10);
    const wrong = arrows.filter(({ path, target }) => !(level(target) < level(path)));
    expect(wrong.map(({ path, target }) => `${path} → ${target}`)).toEqual([]);
  });
});

test('no files import each other in a circle, and those of the service not even types', () => {
  // Tests may share types in a circle.
  const withoutTypes = ({ path, text }: SourceFile) =>
    [...text.replaceAll(/^(?:import|export) type\b[^;]*;/gm, '').matchAll(importPattern)].map((match) =>
      resolve(path, match[1] ?? match[2] ?? match[3] ?? ''),
    );
  const targetsOf = new Map(
    files.map((file) => [file.path, file.room === 'test' ? withoutTypes(file) : file.targets]),
  );
  expect(targetsOf.size).toBeGreaterThan(1000);
  // Repeatedly removes files whose imports are all removed. The files that remain are in an import cycle, or lead to
  // one.
  for (let size = -1; size !== targetsOf.size; ) {
    size = targetsOf.size;
    for (const [path, targets] of targetsOf)
      if (!targets.some((target) => target !== undefined && targetsOf.has(target))) targetsOf.delete(path);
  }
  expect([...targetsOf.keys()]).toEqual([]);
});

test('what no client calls tells in its lines which invocation they are of', () => {
  const handlers = filesOf('queues', 'workflow', 'schedules', 'tasks');
  expect(handlers.length).toBeGreaterThan(5);
  const silent = handlers.filter(({ text }) => !text.includes('export const handler = observed('));
  expect(silent.map(({ path }) => path)).toEqual([]);
});

test('production code does not know where it runs', () => {
  const production = filesOf(...functionRooms, 'lib');
  expect(production.length).toBeGreaterThan(50);
  const local = production.filter(({ text }) => /localhost|isLocal/.test(text)).map(({ path }) => path);
  // A resolver of names must know this one (RFC 6761).
  expect(local).toEqual(['functions/adapters/outbound/addresses.ts']);
});

test('only the runtime makes clients of AWS', () => {
  const makers = filesOf(...functionRooms)
    .filter(({ text }) => /new (\w+Client)\(/.test(text))
    .map(({ path }) => path);
  expect(makers).not.toEqual([]);
  expect(makers.filter((path) => !path.startsWith('functions/runtime/'))).toEqual([]);
});

test('domain and agents get time and randomness by ports, so that a simulation can repeat a run', () => {
  const ambient =
    /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bMath\.random\b|\bset(?:Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|'(?:node:)?timers/;
  const users = filesOf('domain', 'agents').filter(({ text }) => ambient.test(text));
  expect(users.map(({ path }) => path).toSorted()).toEqual([
    // These give way to other requests of the process, in real time.
    'functions/agents/event-loop-turn.ts',
    'functions/agents/model-response.ts',
    // Sockets run in real time.
    'functions/agents/models/completions/read-completion.ts',
    'functions/agents/models/http/http-fetch.ts',
    'functions/agents/models/http/image-tokens.ts',
  ]);
});

test('the stores wait by the table alone', () => {
  const ambient = /\bMath\.random\b|\bsetTimeout\b/;
  const users = files.filter(
    ({ path, text }) => path.startsWith('functions/adapters/dynamo/') && ambient.test(text),
  );
  expect(users.map(({ path }) => path)).toEqual(['functions/adapters/dynamo/table/table.ts']);
});

test('no file but a test or a generated one has more than 400 lines', () => {
  const long = files.filter(
    ({ path }) =>
      !path.endsWith('.test.ts') &&
      path !== 'lib/client/schema.ts' &&
      readFileSync(join(projectFolder, path), 'utf8').split('\n').length > 401,
  );
  expect(long.map(({ path }) => path)).toEqual([]);
});
