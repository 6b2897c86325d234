import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { dynamoFileIndex } from '#adapters/dynamo/files/file-index.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { dynamoTable } from '#adapters/dynamo/table/table.ts';
import { eraseFile } from '#domain/files/attachments.ts';
import type { StoredFile } from '#domain/files/files.ts';
import { MemoryTable, type TableCommand } from '#support/memory-table/memory-table.ts';
import { openMemoryTable } from '#support/memory-table/open-memory-table.ts';

const file: StoredFile = {
  ...{ uuid: 'file', workspaceId: 'ws', name: 'a.txt', contentType: 'text/plain', size: 1 },
  ...{ scope: 'persistent', createdAt: '2027-01-31T12:00:00.000Z', expiresAt: null },
};

/** What processes change. */
interface Life {
  table: MemoryTable;
  hasObject: boolean;
  isMessageStored: boolean;
}

/** Makes a call of a process when the process may go on. */
type Call = <Result>(apply: () => Result) => Promise<Result>;
type Work = (life: Life, call: Call) => Promise<unknown>;

const atOnce: Call = async (apply) => apply();

function fileIndexOf({ table }: Life, call: Call) {
  const send = (command: TableCommand) => call(() => table.execute(command));
  return dynamoFileIndex(dynamoTable({ send } as never, 'table'));
}

const attachTo =
  (chatId: number): Work =>
  async (life, call) => {
    const isAttached = await fileIndexOf(life, call).attach(file, chatId);
    if (isAttached)
      await call(() => {
        life.isMessageStored = true;
      });
  };

const purgeOf =
  (chatId: number): Work =>
  (life, call) => {
    const remove = () =>
      call(() => {
        life.hasObject = false;
      });
    const objects = { files: { delete: remove }, preparedAttachments: { delete: async () => undefined } };
    return eraseFile({ fileIndex: fileIndexOf(life, call), ...objects }, file, chatId);
  };

/** A process that waits before each of its calls until it may go on. */
class Stepped {
  /** What its calls have returned. */
  seen = '';
  isOver = false;
  next: (() => void) | undefined;

  constructor(life: Life, work: Work) {
    const call: Call = (apply) =>
      new Promise((resolve, reject) => {
        this.next = () => {
          this.next = undefined;
          try {
            const result = apply();
            this.seen += `${JSON.stringify(result) ?? ''};`;
            resolve(result);
          } catch (error) {
            this.seen += `${String(error)};`;
            reject(error);
          }
        };
      });
    work(life, call).finally(() => {
      this.isOver = true;
    });
  }
}

interface Scene {
  works: readonly Work[];
  /** How often each process may die. */
  deaths: readonly number[];
  /** The chats that have the file before. */
  purged: readonly number[];
}

/** `i`: the process `i` makes its next call; `-1 - i`: it dies, and its work starts once more if it may. */
type Choice = number;

/** Makes these choices. Returns which are possible then, and the state as a text without random ids. */
async function replay({ works, deaths, purged }: Scene, choices: readonly Choice[]) {
  const life: Life = { table: new MemoryTable(), hasObject: true, isMessageStored: false };
  const index = fileIndexOf(life, atOnce);
  await index.put(file);
  for (const chatId of purged) await index.attach(file, chatId);
  const processes = works.map((work) => new Stepped(life, work));
  const livesOf = [...deaths];
  for (const choice of choices) {
    const at = choice < 0 ? -1 - choice : choice;
    if (choice < 0) {
      livesOf[at] = (livesOf[at] as number) - 1;
      processes[at] = new Stepped(life, works[at] as Work);
    } else processes[at]?.next?.();
    await nextTurn();
  }
  const possible = processes.flatMap(({ isOver, next, seen }, at): Choice[] => {
    if (isOver || next === undefined) return [];
    return seen !== '' && (livesOf[at] as number) > 0 ? [at, -1 - at] : [at];
  });
  const { table, ...others } = life;
  const ids = new Map<string, number>();
  const state = JSON.stringify([
    [...table.items()],
    others,
    processes.map(({ seen, isOver }) => [seen, isOver]),
    livesOf,
  ]).replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, (id) => {
    ids.set(id, ids.get(id) ?? ids.size);
    return String(ids.get(id));
  });
  return { life, possible, state };
}

/** Goes through all orders of the calls, once for each state. Returns the number of states. */
async function explore(scene: Scene, mayLeaveChat: boolean): Promise<number> {
  const known = new Set<string>();
  const waiting: Choice[][] = [[]];
  for (let choices = waiting.pop(); choices !== undefined; choices = waiting.pop()) {
    const { life, possible, state } = await replay(scene, choices);
    if (known.has(state)) continue;
    known.add(state);
    const what = choices.join();
    const item = () => life.table.find(keys.file(file.workspaceId, file.uuid));
    const expectFile = () => {
      const isThere = life.hasObject && item() !== undefined;
      if (life.isMessageStored) expect([what, isThere]).toEqual([what, true]);
    };
    expectFile();
    expect([what, item()?.uuid ?? { S: file.uuid }]).toEqual([what, { S: file.uuid }]);
    for (const choice of possible) waiting.push([...choices, choice]);
    if (possible.length > 0) continue;
    // The second run of each purge, alone.
    for (const chatId of scene.purged) await purgeOf(chatId)(life, atOnce);
    expectFile();
    if (life.isMessageStored) continue;
    // Two attempts, or one that died, may leave their chat. The purge of that chat erases the rest.
    if (!mayLeaveChat || !(await fileIndexOf(life, atOnce).isAttached(file)))
      expect([what, life.hasObject, item()]).toEqual([what, false, undefined]);
  }
  return known.size;
}

test('no message loses its file, and no file outlives its chats, in any order of the calls of a send and two purges', async () => {
  const states = await explore(
    { works: [attachTo(1), purgeOf(2), purgeOf(3)], deaths: [0, 1, 1], purged: [2, 3] },
    false,
  );
  expect(states).toBeGreaterThan(500);
}, 60_000);

test('nor if two attempts of one request attach it while its other chat is purged', async () => {
  const states = await explore(
    { works: [attachTo(1), attachTo(1), purgeOf(2)], deaths: [1, 0, 0], purged: [2] },
    true,
  );
  expect(states).toBeGreaterThan(500);
}, 60_000);

test('a chat that had a closed file before still has it if an update of a second attachment is repeated', async () => {
  const table = new MemoryTable();
  const index = dynamoFileIndex(openMemoryTable(table));
  await index.put(file);
  await index.attach(file, 1);
  await index.close(file);
  const { sk } = keys.chatOfFile('ws', 'file', 1);
  const send = async (command: TableCommand) => {
    const { Key, UpdateExpression } = command.input as {
      Key?: { sk: { S: string } };
      UpdateExpression?: string;
    };
    // The response to the first of two equal updates is lost.
    if (UpdateExpression !== undefined && Key?.sk.S === sk) table.execute(command);
    return table.execute(command);
  };
  const repeating = dynamoFileIndex(dynamoTable({ send } as never, 'table'));
  expect(await repeating.attach(file, 1)).toBe(false);
  expect(await index.isAttached(file)).toBe(true);
});
