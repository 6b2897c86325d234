/** @import { UploadedFile } from './types.d.ts' */
import { Attachments } from './attachments.js';
import { html, iconButton, onEnter } from './dom.js';
import { storeDraft, storedDraft } from './session.js';

/** @typedef {{ text: string, files: UploadedFile[], stream: boolean }} Draft */

/** The form for a message with files. Unsent messages are stored in the tab's session. */
export class Composer {
  #input = html.textarea({
    'aria-label': 'Message',
    placeholder: 'Write a message',
    dir: 'auto',
    input: () => this.store(),
    keydown: (event) => this.#onKey(event),
  });
  #chooser = html.input({
    type: 'file',
    multiple: true,
    hidden: true,
    'aria-label': 'Files',
    change: () => {
      this.attach(this.#chooser.files);
      this.#chooser.value = '';
    },
  });
  #stream = html.input({ type: 'checkbox', checked: true });
  #sendButton = iconButton('send', 'Send', { type: 'submit', class: 'round-button', title: 'Send (Enter)' });
  #stopButton = iconButton('stop', 'Stop', {
    class: 'round-button',
    title: 'Stop (Esc)',
    hidden: true,
    click: () => this.#events.onStop(),
  });
  #attachments = new Attachments(() => this.#onFiles());
  #isRunning = false;
  #chatId;
  #events;
  node;

  /**
   * @param {number | undefined} chatId undefined for a new chat
   * @param {{ onSend: (draft: Draft) => void, onStop: () => void }} events
   */
  constructor(chatId, events) {
    this.#chatId = chatId;
    this.#events = events;
    const title = 'Off: the reply comes as one JSON response';
    const bar = html.div(
      { class: 'composer-bar' },
      iconButton('clip', 'Attach files', { click: () => this.#chooser.click() }),
      this.#chooser,
      html.label({ class: 'check', title }, this.#stream, 'Stream'),
      html.span({ class: 'spacer' }),
      this.#sendButton,
      this.#stopButton,
    );
    const paste = (/** @type {Event} */ event) => {
      const files = event instanceof ClipboardEvent ? event.clipboardData?.files : undefined;
      if (files === undefined || files.length === 0) return;
      event.preventDefault();
      this.attach(files);
    };
    const properties = { class: 'composer', submit: () => this.#submit(), paste };
    this.node = html.form(properties, this.#attachments.node, this.#input, bar);
    this.restore(storedDraft(chatId));
  }

  /**
   * Uploads files for the message.
   *
   * @param {Iterable<File> | null | undefined} files
   */
  attach(files) {
    for (const file of files ?? []) void this.#attachments.upload(file);
  }

  /**
   * From now on, the form and its stored message belong to the new chat.
   *
   * @param {number} chatId
   */
  setChat(chatId) {
    storeDraft(chatId, storedDraft(this.#chatId));
    storeDraft(this.#chatId, { text: '', files: [] });
    this.#chatId = chatId;
  }

  focus() {
    this.#input.focus();
  }

  /** @param {boolean} isRunning */
  setRunning(isRunning) {
    const from = isRunning ? this.#sendButton : this.#stopButton;
    const hadFocus = document.activeElement === from;
    this.#isRunning = isRunning;
    this.#sendButton.hidden = isRunning;
    this.#stopButton.hidden = !isRunning;
    if (hadFocus) (isRunning ? this.#stopButton : this.#input).focus();
  }

  /**
   * Puts a message back into the form. If the form has a text already, that text stays.
   *
   * @param {Pick<Draft, 'text' | 'files'>} draft
   */
  restore({ text, files }) {
    if (this.#input.value === '') this.#input.value = text;
    for (const file of files) this.#attachments.add(file);
    this.store();
  }

  /**
   * Stores what the form has as the unsent message, which a reload restores. A message that is being sent has left the
   * form, but stays stored until the next call, such as when the service has received it.
   */
  store() {
    storeDraft(this.#chatId, { text: this.#input.value, files: this.#attachments.files });
  }

  #onFiles() {
    this.#sendButton.disabled = this.#attachments.areUploading;
    this.store();
  }

  /** @param {Event} event */
  #onKey(event) {
    if (event instanceof KeyboardEvent && event.key === 'Escape' && !event.isComposing && this.#isRunning) {
      event.preventDefault();
      this.#events.onStop();
    }
    onEnter(() => this.#submit())(event);
  }

  #submit() {
    const text = this.#input.value.trim();
    if (text === '' || this.#isRunning || this.#attachments.areUploading) return;
    const { files } = this.#attachments;
    this.#input.value = '';
    this.#attachments.clear();
    this.#events.onSend({ text, files, stream: this.#stream.checked });
  }
}
