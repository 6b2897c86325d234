/** @import { Agent, Chat, Message, StreamEvent } from './types.d.ts' */
/** @import { Draft } from './composer.js' */
import { call, eventsOf, RequestFailed, request } from './api.js';
import { Composer } from './composer.js';
import { element, fill } from './dom.js';
import { createEventList } from './event-list.js';
import { createIntroduction } from './introduction.js';
import { createReply, userArticle } from './messages.js';
import { createRating } from './rating.js';
import { storedUser } from './session.js';

const messagesPerPage = 20;
/** Of a new chat's name, until the model gives the chat another one. */
const nameCharacters = 60;
/** A reader who has scrolled further up than this stays there while text arrives. */
const endPixels = 60;

/** @typedef {ReturnType<typeof createReply>} Reply */

/** One chat with an agent, or a new chat before its first message. */
export class Conversation {
  /** @type {Chat | undefined} */
  chat;
  /** @type {Agent | undefined} */
  #agent;
  /** The reply in progress. @type {{ responseId: string | undefined } | undefined} */
  #running;
  #eventList = createEventList();
  #notice = element('div', { class: 'notice', role: 'alert', hidden: true });
  #introduction = element('div', {});
  #previous = element(
    'button',
    { type: 'button', class: 'small-button previous', hidden: true, click: () => this.loadHistory() },
    'Earlier messages',
  );
  #log = element('div', { class: 'log', role: 'log', 'aria-label': 'Messages' });
  #scroller = element(
    'div',
    { class: 'scroller', scroll: () => this.#onScroll() },
    this.#introduction,
    this.#previous,
    this.#log,
  );
  /** Whether the reader follows the text that arrives. */
  #isAtEnd = true;
  #scrollTop = 0;
  /** @type {(error: unknown) => void} */
  showError = (error) => {
    this.#notice.hidden = false;
    fill(this.#notice, error instanceof Error ? error.message : String(error));
  };
  #composer = new Composer({
    onSend: (draft) => this.#send(draft),
    onStop: () => this.#stop(),
    onError: this.showError,
  });
  #observers;
  events = this.#eventList.node;
  node = element('div', { class: 'conversation' }, this.#scroller, this.#notice, this.#composer.node);

  /**
   * @param {Chat | undefined} chat
   * @param {{ onCreated: (chat: Chat) => void, onChanged: (chat: Chat) => void }} observers
   */
  constructor(chat, observers) {
    this.chat = chat;
    this.#observers = observers;
    // After the layout of a frame, so that to read a height computes no layout of its own.
    const follow = new ResizeObserver(() => this.#isAtEnd && this.#scrollToEnd());
    follow.observe(this.#log);
    follow.observe(this.#scroller);
  }

  get isRunning() {
    return this.#running !== undefined;
  }

  focus() {
    this.#composer.focus();
  }

  /** @param {Agent[]} agents */
  introduce(agents) {
    const onAgent = (/** @type {Agent} */ agent) => {
      this.#agent = agent;
    };
    const onQuestion = (/** @type {string} */ text) => this.#send({ text, files: [], stream: true });
    fill(this.#introduction, createIntroduction(agents, { onAgent, onQuestion }));
  }

  /** Adds the page of messages before those that are there. */
  async loadHistory() {
    const scroller = this.#scroller;
    try {
      const page = { limit: messagesPerPage, offset: this.#log.childElementCount };
      const { messages, total } = await this.#readHistory(page);
      const height = scroller.scrollHeight;
      this.#log.prepend(...messages.toReversed().map((message) => this.#articleOf(message)));
      this.#previous.hidden = this.#log.childElementCount >= total;
      scroller.scrollTop += scroller.scrollHeight - height;
    } catch (error) {
      this.showError(error);
    }
  }

  /** @param {string} name */
  rename(name) {
    if (this.chat === undefined) return;
    this.chat.name = name;
    this.#observers.onChanged(this.chat);
  }

  /** A chat without a user is open to every user. */
  get #user() {
    return this.chat?.external_user_id ?? storedUser();
  }

  /**
   * The newest messages first.
   *
   * @param {{ limit: number, offset?: number }} page
   */
  async #readHistory(page) {
    const query = { external_user_id: this.#user, order_by: 'desc', ...page };
    const { data, pagination } = await call('GET', `/chats/${this.chat?.id}/messages`, { query });
    return { messages: /** @type {Message[]} */ (data), total: pagination.total_records };
  }

  /** @param {Message} message */
  #articleOf(message) {
    if (message.role === 'user') return userArticle(message);
    const reply = this.#createReply();
    reply.show(message);
    return reply.node;
  }

  #createReply() {
    return createReply((messageId, counts) => {
      const chatId = this.chat?.id ?? 0;
      return createRating({ chatId, messageId, user: this.#user, counts, onError: this.showError });
    });
  }

  /** @param {Draft} draft */
  async #send(draft) {
    const question = userArticle({ content: draft.text, attached_files: draft.files });
    const reply = this.#createReply();
    this.#notice.hidden = true;
    this.#introduction.hidden = true;
    this.#log.append(question, reply.node);
    this.#scrollToEnd();
    this.#running = { responseId: undefined };
    this.#composer.setRunning(true);
    try {
      await this.#exchange(draft, reply);
    } catch (error) {
      if (error instanceof RequestFailed && error.isRejection) {
        // The service has stored nothing of the message.
        question.remove();
        reply.node.remove();
        this.#composer.restore(draft);
        this.showError(error);
      } else reply.fail(error instanceof Error ? error.message : String(error));
    } finally {
      this.#running = undefined;
      this.#composer.setRunning(false);
    }
  }

  /**
   * @param {Draft} draft
   * @param {Reply} reply
   */
  async #exchange({ text, files, stream }, reply) {
    this.chat ??= await this.#createChat(text);
    const body = {
      message: text,
      agent_id: this.chat.meta.conversation_agent_id,
      stream,
      ...(files.length > 0 && { attached_file_uuids: files.map(({ uuid }) => uuid) }),
      external_user_id: this.#user,
    };
    const path = `/chats/${this.chat.id}/messages`;
    if (stream) await this.#readStream(path, body, reply);
    else await this.#readReply(path, body, reply);
  }

  /** @param {string} text */
  async #createChat(text) {
    const name = text.length > nameCharacters ? `${text.slice(0, nameCharacters - 1)}…` : text;
    const body = { name, agent_id: this.#agent?.id, external_user_id: storedUser() };
    const { data } = await call('POST', '/chats', { body });
    this.chat = /** @type {Chat} */ (data);
    this.#observers.onCreated(this.chat);
    return this.chat;
  }

  /**
   * @param {string} path
   * @param {Record<string, unknown>} body
   * @param {Reply} reply
   */
  async #readStream(path, body, reply) {
    const startedAt = performance.now();
    this.#eventList.start();
    const response = await request('POST', path, { body });
    let isDone = false;
    for await (const { raw, event } of eventsOf(response)) {
      this.#eventList.add(raw, event);
      if (event === undefined) isDone = true;
      else this.#apply(event, reply, (performance.now() - startedAt) / 1000);
    }
    if (!isDone)
      reply.fail('The connection was lost. The service stores the reply all the same: reload the page.');
  }

  /**
   * @param {StreamEvent} event
   * @param {Reply} reply
   * @param {number} seconds since the request was sent
   */
  #apply(event, reply, seconds) {
    if (this.#running !== undefined) this.#running.responseId = event.response_id;
    if (event.type === 'response.chat.title.updated') this.rename(event.name);
    else reply.apply(event, seconds);
  }

  /**
   * @param {string} path
   * @param {Record<string, unknown>} body
   * @param {Reply} reply
   */
  async #readReply(path, body, reply) {
    await call('POST', path, { body });
    // The response is the text alone. The history also has its id, steps and usage.
    const { messages } = await this.#readHistory({ limit: 1 });
    if (messages[0] !== undefined) reply.show(messages[0]);
    this.#scrollToEnd();
    const query = { external_user_id: this.#user };
    const { data } = await call('GET', `/chats/${this.chat?.id}`, { query });
    this.rename(/** @type {Chat} */ (data).name);
  }

  async #stop() {
    if (this.chat === undefined || this.#running === undefined) return;
    const { responseId } = this.#running;
    const body = { external_user_id: this.#user, ...(responseId && { response_id: responseId }) };
    await call('POST', `/chats/${this.chat.id}/stop`, { body }).catch(this.showError);
  }

  /** Only a reader scrolls up: text that arrives moves the end down, and no more. */
  #onScroll() {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    if (scrollTop + clientHeight >= scrollHeight - endPixels) this.#isAtEnd = true;
    else if (scrollTop < this.#scrollTop) this.#isAtEnd = false;
    this.#scrollTop = scrollTop;
  }

  #scrollToEnd() {
    this.#isAtEnd = true;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }
}
