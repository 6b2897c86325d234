/** @import { UploadedFile } from './types.d.ts' */
import { call } from './api.js';
import { contentTypes } from './content-types.js';
import { element, iconButton, sizeOf } from './dom.js';

/** The files of a message that is not sent yet. A file is uploaded when it is chosen. */
export class Attachments {
  node = element('ul', { class: 'files', 'aria-label': 'Files of the message', hidden: true });
  /** @type {Map<UploadedFile, HTMLLIElement>} */
  #files = new Map();

  /**
   * @param {File} file
   * @throws RequestFailed if the service rejects the file
   */
  async upload(file) {
    const pending = element('li', { 'aria-busy': 'true' }, `Uploading ${file.name} …`);
    this.node.append(pending);
    this.node.hidden = false;
    try {
      const extension = file.name.split('.').at(-1)?.toLowerCase() ?? '';
      const type = contentTypes[extension] ?? file.type;
      const { data } = await call('POST', '/chats/upload-file', {
        file: new File([file], file.name, { type }),
      });
      this.add(/** @type {UploadedFile} */ (data));
    } finally {
      pending.remove();
      this.node.hidden = this.node.childElementCount === 0;
    }
  }

  /** @param {UploadedFile} file */
  add(file) {
    const remove = () => this.#remove(file);
    const button = iconButton('close', `Remove ${file.original_name}`, { click: remove });
    const item = element('li', {}, file.original_name, element('span', {}, sizeOf(file.size)), button);
    this.#files.set(file, item);
    this.node.append(item);
    this.node.hidden = false;
  }

  /**
   * Returns the files, and removes them here.
   *
   * @returns {UploadedFile[]}
   */
  take() {
    const files = [...this.#files.keys()];
    for (const file of files) this.#remove(file);
    return files;
  }

  /** @param {UploadedFile} file */
  #remove(file) {
    this.#files.get(file)?.remove();
    this.#files.delete(file);
    this.node.hidden = this.node.childElementCount === 0;
  }
}
