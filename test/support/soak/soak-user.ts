import { expect } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import type { MessageResource } from '#contract/message.ts';
import { type Client, clientOf } from '../client.ts';
import { functionIds } from '../entry-points.ts';
import { dataOf } from '../open-tenant.ts';
import type { Tenant } from '../service.ts';
import { historyOf } from '../turns.ts';
import { uploaderOf } from '../upload.ts';
import type { SoakLog } from './soak-log.ts';
import { replyTo, type ScriptedBehavior } from './soak-model.ts';

export interface SoakWorld {
  service: { baseUrl: string };
  log: SoakLog;
  random: () => number;
  /** A marker that no previous message has. */
  marker(): string;
}

/** A failure that the log may excuse with a kill. */
class TemporaryFailure extends Error {}

/** A user who chats: sends messages, streamed or not, attaches files, reads histories and lists, and rates replies. */
export class SoakUser {
  readonly #client: Client;
  #chat: ChatResource | undefined;
  #turns = 0;
  readonly #world: SoakWorld;
  readonly #tenant: Tenant;
  readonly #name: string;

  constructor(world: SoakWorld, tenant: Tenant, name: string) {
    this.#world = world;
    this.#tenant = tenant;
    this.#name = name;
    this.#client = clientOf(world.service, tenant);
  }

  /** Does one action. */
  async act(): Promise<void> {
    const { log, random } = this.#world;
    const chance = random();
    if (this.#chat === undefined || this.#turns >= 20)
      await log.record('chat created', () => this.#createChat());
    else if (chance < 0.35) await log.record('streamed reply', () => this.#send(true));
    else if (chance < 0.55) await log.record('plain reply', () => this.#send(false));
    else if (chance < 0.65) await log.record('reply to an upload', () => this.#sendFile());
    else if (chance < 0.8) await log.record('list', () => this.#list());
    else if (chance < 0.9) await log.record('history', () => this.#readBack());
    else await log.record('feedback', () => this.#rate());
  }

  async #createChat(): Promise<void> {
    const { agentId } = this.#tenant;
    const body = { name: 'Soak', agent_id: agentId, external_user_id: this.#name };
    // The web function that is killed creates chats as well.
    this.#chat = await this.#world.log.persistently('chat created', [functionIds['send-message']], async () =>
      dataOf(await this.#client.post<ChatResource>('/chats', body)),
    );
    this.#turns = 0;
  }

  #behavior(): ScriptedBehavior {
    const chance = this.#world.random();
    return chance < 0.05 ? 'Stumble' : chance < 0.08 ? 'Break off' : 'Say';
  }

  async #send(streamed: boolean, files: string[] = []): Promise<void> {
    const { log, marker } = this.#world;
    const behavior = this.#behavior();
    // A turn that a kill has cut off may be in the history, so each attempt has a new marker.
    await log.persistently('reply', [functionIds['send-message']], async () => {
      const said = marker();
      const body = {
        message: `${behavior} ${said}`,
        agent_id: this.#tenant.agentId,
        external_user_id: this.#name,
        attached_file_uuids: files,
      };
      const expected = behavior === 'Break off' ? undefined : replyTo(said);
      if (streamed) await this.#stream(body, expected);
      else {
        const response = await this.#client.post<string>(`/chats/${this.#chatId}/messages`, {
          ...body,
          stream: false,
        });
        if (expected === undefined) {
          if (response.status !== 500)
            throw new TemporaryFailure(`${response.status} ${response.body.message}`);
        } else expect(dataOf(response)).toBe(expected);
      }
    });
    this.#turns += 1;
  }

  get #chatId(): number {
    return this.#chat?.id ?? 0;
  }

  async #stream(body: Record<string, unknown>, expected: string | undefined): Promise<void> {
    const reader = await this.#client.stream(this.#chatId, body);
    if (reader.response.status !== 200)
      throw new TemporaryFailure(`${reader.response.status} ${await reader.response.text()}`);
    const events = await reader.all();
    expect(events.at(-1)).toBe('[DONE]');
    const of = (type: string) => events.filter((event) => event !== '[DONE]' && event.type === type);
    if (expected === undefined) {
      expect(of('response.error')).toHaveLength(1);
      return;
    }
    expect(of('response.error')).toEqual([]);
    const deltas = of('response.output_text.delta').map((event) => (event as { delta: string }).delta);
    expect(deltas.join('')).toBe(expected);
    expect(of('response.output_text.completed')).toMatchObject([{ final_text: expected }]);
  }

  async #sendFile(): Promise<void> {
    const { random } = this.#world;
    const size = Math.floor(200 + random() * 20_000);
    const data = { scope: random() < 0.5 ? 'ephemeral' : 'persistent' };
    const upload = uploaderOf(this.#world.service, this.#tenant);
    const response = await upload.file('notes.txt', 'Notes. '.repeat(Math.ceil(size / 7)), { data });
    const file = dataOf(response) as { uuid: string };
    await this.#send(random() < 0.5, [file.uuid]);
  }

  async #list(): Promise<void> {
    const { random, log } = this.#world;
    const paths = [
      '/chats/published-agents',
      `/chats?limit=20&external_user_id=${this.#name}`,
      `/chats?offset=${Math.floor(random() * 50)}&agent_id=${this.#tenant.agentId}`,
      '/batches?limit=10',
    ];
    const path = paths[Math.floor(random() * paths.length)] ?? '/chats';
    await log.persistently('list', ['List'], async () => dataOf(await this.#client.get(path)));
  }

  async #readBack(): Promise<void> {
    // `historyOf` checks the history, which is consistent after every kill: its total is right, and every message has a
    // reply.
    await this.#world.log.persistently('history', ['List', functionIds['send-message']], () =>
      historyOf(this.#client, this.#chatId, this.#name),
    );
  }

  async #rate(): Promise<void> {
    const { log, random } = this.#world;
    const path = `/chats/${this.#chatId}/messages?external_user_id=${this.#name}&order_by=-created_at&limit=1`;
    const [last] = await log.persistently('history', ['List', functionIds['send-message']], async () =>
      dataOf(await this.#client.get<MessageResource[]>(path)),
    );
    if (last?.role !== 'assistant') return;
    const type = random() < 0.5 ? 'sys_helpful' : 'sys_improve';
    const given = await this.#client.post(`/chats/${this.#chatId}/messages/${last.id}/feedbacks`, {
      external_user_id: this.#name,
      type,
    });
    dataOf(given);
  }
}
