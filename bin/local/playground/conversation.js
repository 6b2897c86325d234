/** @import { Agent, Chat, Envelope, Message } from './types.d.ts' */
/** @import { Draft } from './composer.js' */
import { call, RequestFailed, request } from './api.js';
import { Composer } from './composer.js';
import { button, createProblem, fill, html, messageOf } from './dom.js';
import { createEventList } from './event-list.js';
import { followEnd } from './follow-end.js';
import { createIntroduction } from './introduction.js';
import { createReply, userArticle } from './messages.js';
import { createRating } from './rating.js';
import { pause, replyEvents } from './reply-stream.js';
import { runningReply, storedUser, storeRunningReply } from './session.js';

const messagesPerPage = 20;
/** The maximum length of a new chat's name, until the model gives the chat another one. */
const nameCharacters = 60;
/** The time between two polls for a reply that another client may receive. */
const pollMilliseconds = 1000;
/** The maximum of polls. Together they take longer than any reply, which may take 300 s. */
const polls = 310;

/** @typedef {ReturnType<typeof createReply>} Reply */
/** @typedef {{ responseId: string | undefined, isAccepted: boolean, abort: AbortController }} Running */

/** One chat with an agent, or a new chat before its first message. */
export class Conversation {
  /** @type {Chat | undefined} */
  chat;
  /** @type {Agent | undefined} */
  #agent;
  /** The reply in progress. @type {Running | undefined} */
  #running;
  #eventList = createEventList();
  #notice = createProblem('notice');
  showError = this.#notice.show;
  #introduction = html.div();
  #previous = button('Earlier messages', () => this.loadHistory(), {
    class: 'small-button previous',
    hidden: true,
  });
  #log = html.div({ class: 'log', role: 'log', 'aria-label': 'Messages' });
  #scroller = html.div({ class: 'scroller', tabindex: 0 }, this.#introduction, this.#previous, this.#log);
  #scrollToEnd = followEnd(this.#scroller, this.#log);
  #composer;
  #observers;
  events = this.#eventList.node;
  node;

  /**
   * @param {Chat | undefined} chat
   * @param {{ onCreated: (chat: Chat) => void, onChanged: (chat: Chat) => void }} observers
   */
  constructor(chat, observers) {
    this.chat = chat;
    this.#observers = observers;
    const onSend = (/** @type {Draft} */ draft) => this.#send(draft);
    this.#composer = new Composer(chat?.id, { onSend, onStop: () => this.#stop() });
    const drop = (/** @type {Event} */ event) => {
      if (!(event instanceof DragEvent) || !event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      if (event.type === 'drop') this.#composer.attach(event.dataTransfer.files);
    };
    const properties = { class: 'conversation', dragover: drop, drop };
    this.node = html.div(properties, this.#scroller, this.#notice.node, this.#composer.node);
  }

  get isRunning() {
    return this.#running !== undefined;
  }

  focus() {
    this.#composer.focus();
  }

  /** @param {Agent[]} agents */
  introduce(agents) {
    const introduction = createIntroduction(agents, {
      onAgent: (agent) => (this.#agent = agent),
      onQuestion: (text) => this.#sendText(text),
    });
    fill(this.#introduction, introduction);
  }

  /** Shows the newest messages, and a reply in progress. */
  async open() {
    const newest = await this.loadHistory();
    if (this.chat === undefined || newest?.role === undefined) return;
    if (newest.role === 'user') void this.#follow(this.chat.id);
    else storeRunningReply(this.chat.id, undefined);
  }

  /**
   * Adds the page of messages that precede those that are shown.
   *
   * @returns {Promise<Message | undefined>} the newest message of the page; undefined if it is empty, or after an error
   */
  async loadHistory() {
    const scroller = this.#scroller;
    try {
      const page = { limit: messagesPerPage, offset: this.#log.childElementCount };
      const { messages, total } = await this.#readHistory(page);
      const height = scroller.scrollHeight;
      this.#log.prepend(...messages.toReversed().map((message) => this.#articleOf(message)));
      this.#closeForms();
      const hadFocus = this.#previous.matches(':focus');
      this.#previous.hidden = this.#log.childElementCount >= total;
      if (hadFocus && this.#previous.hidden) scroller.focus();
      scroller.scrollTop += scroller.scrollHeight - height;
      return messages[0];
    } catch (error) {
      this.showError(error);
      return undefined;
    }
  }

  /** @param {string} name */
  rename(name) {
    if (this.chat === undefined) return;
    this.chat.name = name;
    this.#observers.onChanged(this.chat);
  }

  /** The chat's user. A chat without a user is open to every user, so the stored user is taken. */
  get #user() {
    return this.chat?.external_user_id ?? storedUser();
  }

  /**
   * Reads a page of messages, the newest first.
   *
   * @param {{ limit: number, offset?: number }} page
   */
  async #readHistory(page) {
    const query = { external_user_id: this.#user, order_by: 'desc', ...page };
    /** @type {Envelope<Message[]>} */
    const { data, pagination } = await call('GET', `/chats/${this.chat?.id}/messages`, { query });
    return { messages: data, total: pagination.total_records };
  }

  /** @param {Message} message */
  #articleOf(message) {
    if (message.role === 'user') return userArticle(message);
    const reply = this.#createReply();
    reply.show(message);
    return reply.node;
  }

  #createReply() {
    return createReply(
      (messageId, counts) => {
        const chatId = this.chat?.id ?? 0;
        return createRating({ chatId, messageId, user: this.#user, counts, onError: this.showError });
      },
      (text) => {
        if (this.#running === undefined) this.#sendText(text);
        else this.showError(new Error('The reply is still in progress.'));
      },
    );
  }

  /** Disables the forms of all but the last message, because only the next message can answer a form. */
  #closeForms() {
    for (const form of this.#log.querySelectorAll('article:not(:last-child) fieldset'))
      if (form instanceof HTMLFieldSetElement) form.disabled = true;
  }

  /**
   * Sends a suggested question, or the answers of a form. The pressed button is then hidden or disabled, so another
   * element gets the focus.
   *
   * @param {string} text
   */
  #sendText(text) {
    this.#scroller.focus();
    void this.#send({ text, files: [], stream: true });
  }

  /** @param {Draft} draft */
  async #send(draft) {
    const question = userArticle({ content: draft.text, attached_files: draft.files });
    this.#notice.node.hidden = true;
    this.#introduction.hidden = true;
    this.#log.append(question);
    await this.#run(
      (reply, signal) => this.#exchange(draft, reply, signal),
      (error) => {
        // The service has rejected the message, or the creation of its chat.
        question.remove();
        this.#composer.restore(draft);
        this.showError(error);
      },
      () => this.#composer.restore(draft),
    );
  }

  /**
   * Shows the reply in progress to the newest stored message.
   *
   * @param {number} chatId
   */
  async #follow(chatId) {
    const responseId = runningReply(chatId);
    await this.#run(
      async (reply, signal) => {
        if (responseId === undefined) await this.#awaitReply(reply, signal);
        else await this.#readStream(chatId, { responseId }, reply, signal);
      },
      (error) => {
        if (responseId === undefined) this.showError(error);
        else this.#followStored();
      },
    );
  }

  /** Waits for the stored reply. For example, the events of its stream have expired. */
  #followStored() {
    if (this.chat === undefined) return;
    storeRunningReply(this.chat.id, undefined);
    void this.#follow(this.chat.id);
  }

  /**
   * Shows a reply while `exchange` fills it.
   *
   * @param {(reply: Reply, signal: AbortSignal) => Promise<void>} exchange
   * @param {(error: RequestFailed) => void} onRejected called if the service rejects a request before the exchange has
   *   called `#accept`
   * @param {() => void} [onLost] called if another error comes before that call
   */
  async #run(exchange, onRejected, onLost) {
    const reply = this.#createReply();
    const abort = new AbortController();
    this.#log.append(reply.node);
    this.#closeForms();
    this.#scrollToEnd();
    /** @type {Running} */
    const running = { responseId: undefined, isAccepted: false, abort };
    this.#running = running;
    this.#composer.setRunning(true);
    /** @type {RequestFailed | undefined} */
    let rejection;
    try {
      await exchange(reply, abort.signal);
    } catch (error) {
      if (error instanceof RequestFailed && error.isRejection) rejection = error;
      else {
        reply.fail(messageOf(error));
        if (!running.isAccepted) onLost?.();
      }
    }
    this.#running = undefined;
    this.#composer.setRunning(false);
    if (rejection === undefined) return;
    reply.node.remove();
    if (running.isAccepted) this.#followStored();
    else onRejected(rejection);
  }

  /** The service has stored the message. */
  #accept() {
    if (this.#running !== undefined) this.#running.isAccepted = true;
    this.#composer.store();
  }

  /**
   * @param {Draft} draft
   * @param {Reply} reply
   * @param {AbortSignal} signal
   */
  async #exchange({ text, files, stream }, reply, signal) {
    const { id, meta } = this.chat ?? (await this.#createChat(text));
    const body = {
      message: text,
      agent_id: meta.conversation_agent_id,
      ...(stream ? { stream, resumable: true } : { stream }),
      ...(files.length > 0 && { attached_file_uuids: files.map(({ uuid }) => uuid) }),
      external_user_id: this.#user,
    };
    const path = `/chats/${id}/messages`;
    const idempotencyKey = crypto.randomUUID();
    const send = () => request('POST', path, { body, idempotencyKey });
    if (stream) await this.#readStream(id, { send }, reply, signal);
    else await this.#readReply(send, reply);
  }

  /** @param {string} text */
  async #createChat(text) {
    const name = text.length > nameCharacters ? `${text.slice(0, nameCharacters - 1)}…` : text;
    const body = { name, agent_id: this.#agent?.id, external_user_id: storedUser() };
    /** @type {Envelope<Chat>} */
    const { data: chat } = await call('POST', '/chats', { body });
    this.chat = chat;
    this.#composer.setChat(chat.id);
    this.#observers.onCreated(chat);
    return chat;
  }

  /**
   * @param {number} chatId
   * @param {{ send: () => Promise<Response> } | { responseId: string }} source
   * @param {Reply} reply
   * @param {AbortSignal} signal
   */
  async #readStream(chatId, source, reply, signal) {
    const startedAt = performance.now();
    this.#eventList.start();
    const onLost = () => reply.setNote('The connection is lost. Waiting for the service …');
    const events = replyEvents({ chatId, user: this.#user, ...source, signal, onLost });
    for await (const { raw, event } of events) {
      reply.setNote('');
      this.#eventList.add(raw, event);
      if (event === undefined) break;
      if (this.#running !== undefined) this.#running.responseId = event.response_id;
      if (event.type === 'response.created') {
        storeRunningReply(chatId, event.response_id);
        this.#accept();
      }
      if (event.type === 'response.chat.title.updated') this.rename(event.name);
      else reply.apply(event, 'send' in source ? (performance.now() - startedAt) / 1000 : undefined);
    }
    storeRunningReply(chatId, undefined);
  }

  /**
   * @param {() => Promise<Response>} send
   * @param {Reply} reply
   */
  async #readReply(send, reply) {
    await send();
    this.#accept();
    // The response's `data` is the text alone. The history also has the reply's id, steps and usage.
    const { messages } = await this.#readHistory({ limit: 1 });
    if (messages[0] !== undefined) reply.show(messages[0]);
    await this.#readName();
  }

  /**
   * @param {Reply} reply
   * @param {AbortSignal} signal
   */
  async #awaitReply(reply, signal) {
    reply.setNote('The reply is in progress …');
    for (let count = 0; count < polls; count += 1) {
      await pause(pollMilliseconds, signal);
      // If this poll gets no response, the next one may get one.
      const read = await this.#readHistory({ limit: 1 }).catch((error) => {
        if (error instanceof RequestFailed && error.isRejection) throw error;
      });
      const newest = read?.messages[0];
      if (newest?.role !== 'assistant') continue;
      await this.#readName();
      reply.setNote('');
      reply.show(newest);
      return;
    }
    throw new Error('No reply has come.');
  }

  async #readName() {
    const query = { external_user_id: this.#user };
    /** @type {Envelope<Chat>} */
    const { data } = await call('GET', `/chats/${this.chat?.id}`, { query });
    this.rename(data.name);
  }

  async #stop() {
    if (this.chat === undefined || this.#running === undefined) return;
    const { responseId, abort } = this.#running;
    const body = { external_user_id: this.#user, ...(responseId && { response_id: responseId }) };
    try {
      await call('POST', `/chats/${this.chat.id}/stop`, { body });
    } catch (error) {
      // Ends the pauses between attempts to connect and between polls. An open response is still read to its end.
      const isLost = error instanceof RequestFailed && !error.isRejection;
      if (isLost || responseId === undefined) abort.abort(error);
      else this.showError(error);
    }
  }
}
