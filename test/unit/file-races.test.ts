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
interface Shared {
  table: MemoryTable;
  hasObject: boolean;
  isMessageStored: boolean;
}

type Work = (process: Stepped) => Promise<unknown>;

/** A process that waits before each of its calls until it may go on. */
class Stepped {
  /** What its calls have returned. */
  seen = '';
  isOver = false;
  next: (() => void) | undefined;
  private readonly shared: Shared;

  constructor(shared: Shared, work: Work) {
    this.shared = shared;
    work(this).finally(() => {
      this.isOver = true;
    });
  }

  call<Result>(apply: (shared: Shared) => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.next = () => {
        try {
          const result = apply(this.shared);
          this.seen += `${JSON.stringify(result) ?? ''};`;
          resolve(result);
        } catch (error) {
          this.seen += `${String(error)};`;
          reject(error);
        }
      };
    });
  }

  get fileIndex() {
    const send = (command: TableCommand) => this.call(({ table }) => table.execute(command));
    return dynamoFileIndex(dynamoTable({ send } as never, 'table'));
  }
}

const attachTo =
  (chatId: number): Work =>
  async (process) => {
    const isAttached = await process.fileIndex.attach(file, chatId);
    if (isAttached)
      await process.call((shared) => {
        shared.isMessageStored = true;
      });
  };

const purgeOf =
  (chatId: number): Work =>
  (process) => {
    const remove = () =>
      process.call((shared) => {
        shared.hasObject = false;
      });
    const objects = { files: { delete: remove }, preparedAttachments: { delete: async () => undefined } };
    return eraseFile({ fileIndex: process.fileIndex, ...objects }, file, chatId);
  };

/** `i`: the process `i` makes its next call; `-1 - i`: it dies, and its work starts once more if it may. */
type Choice = number;

class Life {
  readonly shared: Shared = { table: new MemoryTable(), hasObject: true, isMessageStored: false };
  readonly processes: Stepped[] = [];
  private readonly works: readonly Work[];
  private readonly livesOf: number[];

  constructor(works: readonly Work[], deaths: readonly number[]) {
    this.works = works;
    this.livesOf = [...deaths];
  }

  static async replay(
    works: readonly Work[],
    deaths: readonly number[],
    attachedIn: readonly number[],
    choices: readonly Choice[],
  ): Promise<Life> {
    const life = new Life(works, deaths);
    const index = dynamoFileIndex(openMemoryTable(life.shared.table));
    await index.put(file);
    for (const chatId of attachedIn) await index.attach(file, chatId);
    life.processes.push(...works.map((work) => new Stepped(life.shared, work)));
    for (const choice of choices) await life.make(choice);
    return life;
  }

  private async make(choice: Choice): Promise<void> {
    const index = choice < 0 ? -1 - choice : choice;
    const process = this.processes[index] as Stepped;
    if (choice >= 0) {
      const { next } = process;
      process.next = undefined;
      next?.();
      return nextTurn();
    }
    this.livesOf[index] = (this.livesOf[index] as number) - 1;
    this.processes[index] = new Stepped(this.shared, this.works[index] as Work);
  }

  get choices(): Choice[] {
    return this.processes.flatMap(({ isOver, next, seen }, index) => {
      if (isOver || next === undefined) return [];
      return seen !== '' && (this.livesOf[index] as number) > 0 ? [index, -1 - index] : [index];
    });
  }

  get state(): string {
    const { table, ...others } = this.shared;
    const processes = this.processes.map(({ seen, isOver }) => [seen, isOver]);
    const state = JSON.stringify([[...table.items()], others, processes, this.livesOf]);
    const ids = new Map<string, number>();
    return state.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, (id) => {
      ids.set(id, ids.get(id) ?? ids.size);
      return String(ids.get(id));
    });
  }

  get item() {
    return this.shared.table.find(keys.file(file.workspaceId, file.uuid));
  }

  get isFileThere(): boolean {
    return this.shared.hasObject && this.item !== undefined;
  }
}

/** Goes through all orders of the calls, once for each state. Returns the number of states. */
async function explore(
  works: readonly Work[],
  deaths: readonly number[],
  purged: readonly number[],
  mayLeaveChat: boolean,
): Promise<number> {
  const seen = new Set<string>();
  const waiting: Choice[][] = [[]];
  for (let choices = waiting.pop(); choices !== undefined; choices = waiting.pop()) {
    const life = await Life.replay(works, deaths, purged, choices);
    const { state } = life;
    if (seen.has(state)) continue;
    seen.add(state);
    const { shared } = life;
    const what = choices.join();
    if (shared.isMessageStored) expect([what, life.isFileThere]).toEqual([what, true]);
    const item = life.item;
    if (item !== undefined) expect([what, item.uuid]).toEqual([what, { S: file.uuid }]);
    for (const choice of life.choices) waiting.push([...choices, choice]);
    if (life.choices.length > 0) continue;
    // The second run of each purge, alone.
    const index = dynamoFileIndex(openMemoryTable(shared.table));
    const remove = async () => {
      shared.hasObject = false;
    };
    const objects = { files: { delete: remove }, preparedAttachments: { delete: async () => undefined } };
    for (const chatId of purged) await eraseFile({ fileIndex: index, ...objects }, file, chatId);
    if (shared.isMessageStored) expect([what, life.isFileThere]).toEqual([what, true]);
    // Two attempts, or one that died, may leave their chat. The purge of that chat erases the rest.
    else if (!mayLeaveChat || !(await index.isAttached(file)))
      expect([what, shared.hasObject, life.item]).toEqual([what, false, undefined]);
  }
  return seen.size;
}

test('no message loses its file, and no file outlives its chats, in any order of the calls of a send and two purges', async () => {
  const states = await explore([attachTo(1), purgeOf(2), purgeOf(3)], [0, 1, 1], [2, 3], false);
  expect(states).toBeGreaterThan(500);
}, 60_000);

test('nor if two attempts of one request attach it while its other chat is purged', async () => {
  const states = await explore([attachTo(1), attachTo(1), purgeOf(2)], [1, 0, 0], [2], true);
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
