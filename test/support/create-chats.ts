import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { newChats } from '#runtime/composition/services.ts';

/** A chat that was created, as this program writes it to stdout: one line each. */
export interface CreatedChat {
  id: number;
  name: string;
  externalUserId: string | null;
  keyHash: string;
}

/** Chats that are created at the same time. */
const creators = 16;

/** Creates `count` chats in the table that the environment names: WORKSPACE AGENT NAME COUNT. */
const [workspaceId = '', agentId = '', name = '', count = ''] = process.argv.slice(2);
let started = 0;

async function create(): Promise<void> {
  while (started < Number(count)) {
    started += 1;
    const keyHash = randomUUID();
    const chat = await newChats().createWithKey(
      {
        ...{ workspaceId, agentId, name: `${name} ${started}` },
        externalUserId: started % 3 === 0 ? null : `user-${started % 5}`,
      },
      { workspaceId, hash: keyHash, fingerprint: 'request', at: Date.now() },
    );
    if (chat === undefined) throw new Error('A new key is in use');
    const { id, externalUserId } = chat;
    process.stdout.write(
      `${JSON.stringify({ id, name: chat.name, externalUserId, keyHash } satisfies CreatedChat)}\n`,
    );
  }
}

await Promise.all(Array.from({ length: creators }, create));
