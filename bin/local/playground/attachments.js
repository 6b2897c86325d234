/** @import { Envelope, UploadedFile } from './types.d.ts' */
import { call } from './api.js';
import { contentTypes } from './content-types.js';
import { fill, html, iconButton, messageOf, sizeOf } from './dom.js';

/** The files of a message that is not sent yet. A file is uploaded when it is chosen. */
export class Attachments {
  node = html.ul({ class: 'files', 'aria-label': 'Files of the message', hidden: true });
  /** @type {Map<UploadedFile, HTMLLIElement>} */
  #files = new Map();
  #uploads = 0;
  #onChange;

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  get files() {
    return [...this.#files.keys()];
  }

  get areUploading() {
    return this.#uploads > 0;
  }

  /** @param {File} file */
  async upload(file) {
    this.#uploads += 1;
    this.#onChange();
    const pending = html.li({ 'aria-busy': 'true' }, `Uploading ${file.name} …`);
    this.node.append(pending);
    this.node.hidden = false;
    try {
      const extension = file.name.split('.').at(-1)?.toLowerCase() ?? '';
      const typed = new File([file], file.name, { type: contentTypes[extension] ?? file.type });
      /** @type {Envelope<UploadedFile>} */
      const { data } = await call('POST', '/chats/upload-file', { file: typed });
      pending.replaceWith(this.add(data));
    } catch (error) {
      pending.ariaBusy = 'false';
      const dismiss = iconButton('close', `Dismiss ${file.name}`, { click: () => this.#remove(pending) });
      fill(pending, html.span({ role: 'alert' }, `${file.name}: ${messageOf(error)}`), dismiss);
    }
    this.#uploads -= 1;
    this.#onChange();
  }

  /** @param {UploadedFile} file */
  add(file) {
    const click = () => this.#remove(item, file);
    const button = iconButton('close', `Remove ${file.original_name}`, { click });
    const item = html.li(file.original_name, html.small(sizeOf(file.size)), button);
    this.#files.set(file, item);
    this.node.append(item);
    this.node.hidden = false;
    this.#onChange();
    return item;
  }

  /** Empties the list. The service keeps the files. */
  clear() {
    this.#files.clear();
    fill(this.node);
    this.node.hidden = true;
  }

  /**
   * @param {HTMLLIElement} item
   * @param {UploadedFile} [file]
   */
  #remove(item, file) {
    const neighbour = item.nextElementSibling ?? item.previousElementSibling;
    item.remove();
    // The pressed button is gone, so another element gets the focus.
    (neighbour?.querySelector('button') ?? this.node.closest('form')?.querySelector('textarea'))?.focus();
    if (file !== undefined) this.#files.delete(file);
    this.node.hidden = this.node.childElementCount === 0;
    this.#onChange();
  }
}
