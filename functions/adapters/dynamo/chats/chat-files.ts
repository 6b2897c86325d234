import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { eraseFile } from '#domain/files/erase-file.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

export type EraseFile = ReturnType<typeof eraseFile>;

/** A file takes about ten calls, one after the other. */
const filesAtOnce = 20;

type FileOfChat = Pick<StoredFile, 'uuid' | 'scope'>;

/** Erases the files that are attached in a deleted chat, each once in a run of the purge. */
export class ChatFiles {
  /** Files that an earlier version has stored. */
  readonly retained: string[] = [];
  private readonly seen = new Set<string>();
  private readonly table: Table;
  private readonly chat: Pick<Chat, 'workspaceId' | 'id'>;
  private readonly eraseFile: EraseFile;

  constructor(table: Table, chat: Pick<Chat, 'workspaceId' | 'id'>, eraseFile: EraseFile) {
    this.table = table;
    this.chat = chat;
    this.eraseFile = eraseFile;
  }

  /**
   * Erases the files that are registered in the chat. The items stay until the last run: until then, a function may still
   * store the prepared content of an erased file, or attach one.
   */
  async eraseRegistered(isLast: boolean): Promise<void> {
    const { workspaceId, id } = this.chat;
    const pages = this.table.queryPages({
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :files)',
      ExpressionAttributeValues: { ':pk': keys.chat(workspaceId, id).pk, ':files': filePrefix },
    });
    for await (const page of pages) {
      await this.erase(
        page.map(({ sk, scope }) => ({ uuid: uuidOf(sk), scope: scope as FileOfChat['scope'] })),
      );
      const done = page.filter(({ sk }) => isLast || this.retained.includes(uuidOf(sk)));
      await this.table.deleteAll(done.map(({ pk, sk }): Key => ({ pk: pk as string, sk: sk as string })));
    }
  }

  /** Erases the files of messages. A function of an earlier version may not have registered them. */
  eraseOf(messages: readonly Item[]): Promise<void> {
    return this.erase(messages.flatMap(({ files }) => (files as FileOfChat[] | undefined) ?? []));
  }

  private async erase(files: readonly FileOfChat[]): Promise<void> {
    const { workspaceId, id } = this.chat;
    const unseen = files.filter(({ uuid }) => !this.seen.has(uuid) && this.seen.add(uuid));
    for (let first = 0; first < unseen.length; first += filesAtOnce)
      await Promise.all(
        unseen.slice(first, first + filesAtOnce).map(async ({ uuid, scope }) => {
          const erasure = await this.eraseFile({ workspaceId, uuid, scope }, id);
          if (erasure === 'not-indexed') this.retained.push(uuid);
        }),
      );
  }
}

const filePrefix = 'FILE#';
const uuidOf = (sk: unknown): string => String(sk).slice(filePrefix.length);
