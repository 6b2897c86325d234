/** @import { UploadedFile } from './types.d.ts' */
import { Attachments } from './attachments.js';
import { element, icon, iconButton } from './dom.js';

/** @typedef {{ text: string, files: UploadedFile[], stream: boolean }} Draft */

/** The form for a message with files. */
export class Composer {
  #input = element('textarea', {
    'aria-label': 'Message',
    placeholder: 'Write a message',
    keydown: (event) => this.#onKey(event),
  });
  #chooser = element('input', {
    type: 'file',
    multiple: true,
    hidden: true,
    'aria-label': 'Files',
    change: () => this.#attach(),
  });
  #stream = element('input', { type: 'checkbox', checked: true });
  #sendButton = element(
    'button',
    { type: 'submit', class: 'round-button', 'aria-label': 'Send', title: 'Send (Enter)' },
    icon('send'),
  );
  #stopButton = element(
    'button',
    {
      type: 'button',
      class: 'round-button',
      'aria-label': 'Stop',
      title: 'Stop (Esc)',
      hidden: true,
      click: () => this.#events.onStop(),
    },
    icon('stop'),
  );
  #attachments = new Attachments();
  #isRunning = false;
  #events;
  node;

  /** @param {{ onSend: (draft: Draft) => void, onStop: () => void, onError: (error: unknown) => void }} events */
  constructor(events) {
    this.#events = events;
    const bar = element(
      'div',
      { class: 'composer-bar' },
      iconButton('clip', 'Attach files', { click: () => this.#chooser.click() }),
      this.#chooser,
      element(
        'label',
        { class: 'check', title: 'Off: the reply comes as one JSON response' },
        this.#stream,
        'Stream',
      ),
      element('span', { class: 'spacer' }),
      this.#sendButton,
      this.#stopButton,
    );
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#submit();
    };
    this.node = element('form', { class: 'composer', submit }, this.#attachments.node, this.#input, bar);
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
   * Restores a rejected message.
   *
   * @param {Draft} draft
   */
  restore({ text, files }) {
    if (this.#input.value === '') this.#input.value = text;
    for (const file of files) this.#attachments.add(file);
  }

  /** @param {Event} event */
  #onKey(event) {
    if (!(event instanceof KeyboardEvent) || event.isComposing) return;
    if (event.key === 'Escape' && this.#isRunning) this.#events.onStop();
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    this.#submit();
  }

  #submit() {
    const text = this.#input.value.trim();
    if (text === '' || this.#isRunning) return;
    this.#input.value = '';
    this.#events.onSend({ text, files: this.#attachments.take(), stream: this.#stream.checked });
  }

  async #attach() {
    const chosen = [...(this.#chooser.files ?? [])];
    this.#chooser.value = '';
    for (const file of chosen) await this.#attachments.upload(file).catch(this.#events.onError);
  }
}
