import { describe, expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { chatWithTool } from '#support/demo-tools.ts';
import { messageItems } from '#support/seed.ts';
import { createTenant } from '#support/service.ts';
import { historyOf } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';

const type = 'consultant_lookup';

const service = await useService();
const table = closeAfterTests(dataTableOf(service));
const tenant = await createTenant({ titles: false });

const open = (config?: Record<string, unknown>) => chatWithTool(service, tenant, type, config);

/** A chat with so many previous messages. */
async function longChat(count: number, content: (position: number) => string) {
  const chat = await open();
  const { workspaceId } = tenant;
  const { chatId } = chat;
  await table.writeItems(messageItems({ workspaceId, chatId, count, content }));
  await table.change(keys.chat(workspaceId, chatId), { message_count: count });
  return chat;
}

// The first turn of a run starts its functions.
describe('a look-up', () => {
  it('finds what was said before, with the message it stands in', async () => {
    const chat = await open();
    await chat.say('My cat is called Hannibal.');
    await chat.say('Let us talk of something else.');
    const history = await historyOf(chat.client, chat.chatId);
    const { results, note } = await chat.search('What is the name of the cat?');
    expect(await chat.lastStep()).toMatchObject({
      ...{ type, content: 'Looking through the conversation' },
      args: { query: 'What is the name of the cat?' },
    });
    expect(note).toBeUndefined();
    expect(results.find(({ source }) => source.role === 'user')).toEqual({
      text: 'My cat is called Hannibal.',
      source: {
        type: 'message',
        message_id: history[0]?.id,
        role: 'user',
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
      score: expect.any(Number),
    });
    expect(results.map(({ score }) => score)).toEqual(
      results.map(({ score }) => score).toSorted((one, other) => other - one),
    );
  });

  it('does not find its own question, nor what was said in another chat', async () => {
    const other = await open();
    await other.say('The password is swordfish.');
    const chat = await open();
    expect(await chat.search('swordfish')).toEqual({
      results: [],
      note: 'Nothing that was searched matches the query',
    });
  });

  it('reaches beyond what the model sees, and says where it ended', async () => {
    const filler = 'Nothing of note was said here, and nothing of note was answered. '.repeat(2);
    const facts: Record<number, string> = {
      100: 'The treasure is under the willow.',
      501: 'The boat leaves from pier eleven.',
    };
    const chat = await longChat(2400, (position) => facts[position] ?? `${filler} ${position}`);
    const boat = await chat.search('boat pier');
    expect(boat.results[0]).toMatchObject({ text: facts[501], source: { role: 'user' } });
    expect(boat.note).toBe('Only the newest 2000 of 2400 earlier messages were searched');
    const treasure = await chat.search('treasure willow');
    expect(treasure.results.filter(({ text }) => text === facts[100])).toEqual([]);
  });

  it('ends before it has more text than it can hold', async () => {
    const chat = await longChat(30, (position) => `Number ${position}. ${'word '.repeat(40_000)}`);
    const { results, note } = await chat.search('number');
    expect(note).toBe('Only the newest 19 of 30 earlier messages were searched');
    expect(results).toHaveLength(5);
  });
});
