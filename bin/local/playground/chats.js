/** @import { Agent, Chat, Envelope } from './types.d.ts' */
import { call } from './api.js';
import { Conversation } from './conversation.js';
import { confirmAction, enterText } from './dialogs.js';
import { byId, drawPager, fill, html, iconButton, linkItem, shortTime } from './dom.js';
import { onReplyElsewhere, storedUser } from './session.js';

/** As many as the service lists at once. The search looks at the chats of one page. */
const chatsPerPage = 1000;

/** The list of chats and the open one. */
export class Chats {
  #list = byId('chat-list', HTMLUListElement);
  #ofBatches = byId('batch-chat-list', HTMLUListElement);
  #search = byId('chat-search', HTMLInputElement);
  #pages = byId('chat-pages', HTMLElement);
  #view = byId('chats-view', HTMLElement);
  #heading = html.h1();
  #facts = html.p();
  #header = html.header(
    { class: 'chat-header' },
    html.div(this.#heading, this.#facts),
    iconButton('pencil', 'Rename the chat', { click: () => this.#rename() }),
    iconButton('trash', 'Delete the chat', { click: () => this.#delete() }),
  );
  /** @type {Agent[]} */
  #agents = [];
  /** Conversations that can be shown again, such as those whose reply is running. @type {Map<number, Conversation>} */
  #conversations = new Map();
  /**
   * The chats of all lists so far, and new ones, because the service finds the chat of a user only with that user.
   * @type {Map<number, Chat>}
   */
  #known = new Map();
  /** @type {Conversation | undefined} */
  #shown;
  /** Undefined while a new chat is open. @type {number | undefined} */
  #openId;
  #offset = 0;
  /** The chats of the page that the list shows. @type {Chat[]} */
  #listed = [];
  #showEvents;

  /** @param {(events: Node) => void} showEvents */
  constructor(showEvents) {
    this.#showEvents = showEvents;
    this.#search.addEventListener('input', () => this.#drawList());
    onReplyElsewhere((chatId) => {
      const isShown = this.#openId === chatId && !this.#view.hidden;
      if (!isShown || this.#shown === undefined || this.#shown.isRunning) return;
      this.#conversations.delete(chatId);
      void this.open(chatId);
    });
  }

  /** @param {Agent[]} agents */
  setAgents(agents) {
    this.#agents = agents;
    this.#conversations.clear();
    this.#known.clear();
    this.#shown = undefined;
  }

  /**
   * The external_user_id to read the chat with: that of the chat if one is known, else the stored one.
   *
   * @param {number} chatId
   */
  userOf(chatId) {
    return this.#known.get(chatId)?.external_user_id ?? storedUser();
  }

  async loadList(offset = this.#offset) {
    this.#offset = offset;
    /** @type {Envelope<Chat[]>} */
    const { data, pagination } = await call('GET', '/chats', { query: { limit: chatsPerPage, offset } });
    this.#listed = data;
    for (const chat of this.#listed) this.#known.set(chat.id, chat);
    this.#drawList();
    drawPager(this.#pages, pagination, (target) => this.loadList(target).catch(this.#showError));
  }

  #drawList() {
    const words = this.#search.value.trim().toLowerCase();
    const found = this.#listed.filter(({ name, external_user_id }) =>
      `${name} ${external_user_id ?? ''}`.toLowerCase().includes(words),
    );
    const own = found.filter(({ meta }) => meta.batch_id === undefined);
    const ofBatches = found.filter(({ meta }) => meta.batch_id !== undefined);
    const none = this.#listed.length === 0 ? 'No chat yet.' : 'No chat found.';
    fill(this.#list, ...own.map(itemOf), found.length === 0 && html.li({ class: 'hint' }, none));
    fill(this.#ofBatches, ...ofBatches.map(itemOf));
    const group = byId('batch-chats', HTMLDetailsElement);
    group.hidden = ofBatches.length === 0;
    group.open ||= words !== '';
    fill(group.querySelector('summary') ?? group, `Chats of batches (${ofBatches.length})`);
    this.#markShown();
  }

  /** Opens a new chat. */
  start() {
    this.#openId = undefined;
    const conversation = this.#createConversation(undefined);
    conversation.introduce(this.#agents);
    this.#show(conversation);
    conversation.focus();
  }

  /** @param {number} id */
  async open(id) {
    this.#openId = id;
    const running = this.#conversations.get(id);
    if (running !== undefined) return this.#show(running);
    if (!this.#known.has(id)) {
      // A message must not go to the chat that was open, if this one cannot be read.
      this.#shown = undefined;
      fill(this.#view);
    }
    const chat = this.#known.get(id) ?? (await readChat(id));
    if (this.#openId !== id) return;
    const conversation = this.#createConversation(chat);
    this.#show(conversation);
    await conversation.open();
    conversation.focus();
  }

  /** @param {Chat | undefined} chat */
  #createConversation(chat) {
    const conversation = new Conversation(chat, {
      onCreated: (created) => {
        this.#known.set(created.id, created);
        this.#conversations.set(created.id, conversation);
        if (this.#shown === conversation && !this.#view.hidden) {
          this.#openId = created.id;
          history.replaceState(null, '', `#/chats/${created.id}`);
          this.#describe();
        }
        this.loadList(0).catch(this.#showError);
      },
      onChanged: ({ id, name }) => {
        const listed = this.#listed.find((chat) => chat.id === id);
        if (listed !== undefined) listed.name = name;
        this.#drawList();
        if (this.#shown === conversation) this.#describe();
      },
    });
    return conversation;
  }

  /** @param {Conversation} conversation */
  #show(conversation) {
    for (const [id, other] of this.#conversations) if (!other.isRunning) this.#conversations.delete(id);
    this.#shown = conversation;
    if (conversation.chat !== undefined) this.#conversations.set(conversation.chat.id, conversation);
    fill(this.#view, this.#header, conversation.node);
    this.#showEvents(conversation.events);
    this.#describe();
    this.#markShown();
  }

  #describe() {
    const chat = this.#shown?.chat;
    this.#header.hidden = chat === undefined;
    if (chat === undefined) return;
    fill(this.#heading, chat.name);
    const agent = this.#agents.find(({ id }) => id === chat.meta.conversation_agent_id);
    const user = chat.external_user_id === null ? 'every user' : `user ${chat.external_user_id}`;
    fill(this.#facts, `${agent?.name ?? 'Agent without a published version'} · chat ${chat.id} · ${user}`);
  }

  #markShown() {
    for (const link of document.querySelectorAll('#side a[data-chat]'))
      link.ariaCurrent = link.getAttribute('data-chat') === String(this.#openId) ? 'page' : null;
  }

  /** @type {(error: unknown) => void} */
  #showError = (error) => this.#shown?.showError(error);

  async #rename() {
    const chat = this.#shown?.chat;
    if (chat === undefined) return;
    const properties = { value: chat.name, maxlength: 256, required: true };
    const name = await enterText('Rename the chat', 'Rename', 'Name', properties);
    if (!name) return;
    const body = { name, external_user_id: chat.external_user_id };
    const rename = () => this.#conversations.get(chat.id)?.rename(name);
    await call('PATCH', `/chats/${chat.id}`, { body }).then(rename, this.#showError);
  }

  async #delete() {
    const chat = this.#shown?.chat;
    if (chat === undefined) return;
    const text = `“${chat.name}” will be gone at once, with its messages and files.`;
    if (!(await confirmAction('Delete the chat?', text, 'Delete'))) return;
    try {
      const query = { external_user_id: chat.external_user_id ?? undefined };
      await call('DELETE', `/chats/${chat.id}`, { query });
      this.#known.delete(chat.id);
      this.#conversations.delete(chat.id);
      location.hash = '#/chats';
      await this.loadList();
    } catch (error) {
      this.#showError(error);
    }
  }
}

/**
 * @param {number} id
 * @returns {Promise<Chat>}
 */
const readChat = async (id) =>
  (await call('GET', `/chats/${id}`, { query: { external_user_id: storedUser() } })).data;

/** @param {Chat} chat */
const itemOf = ({ id, name, created_at, external_user_id }) =>
  linkItem({ href: `#/chats/${id}`, 'data-chat': id }, [name], [shortTime(created_at), external_user_id]);
