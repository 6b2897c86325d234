import { button, byId, field, fill, html, submitButton } from './dom.js';

const dialog = byId('dialog', HTMLDialogElement);

/**
 * Opens the dialog with a form. Resolves when the dialog is closed: with whether the form was submitted.
 *
 * @param {string} title
 * @param {string} action the caption of the button that submits
 * @param {...import('./dom.js').Child} content
 * @returns {Promise<boolean>}
 */
export function openDialog(title, action, ...content) {
  let isSubmitted = false;
  const submit = () => {
    isSubmitted = true;
    dialog.close();
  };
  const cancel = button('Cancel', () => dialog.close(), { class: 'button' });
  const buttons = html.div({ class: 'dialog-buttons' }, cancel, submitButton(action));
  fill(dialog, html.form({ submit }, html.h2({ id: 'dialog-title' }, title), ...content, buttons));
  const { promise, resolve } = Promise.withResolvers();
  dialog.addEventListener('close', () => resolve(isSubmitted), { once: true });
  dialog.showModal();
  return promise;
}

/**
 * @param {string} title
 * @param {string} text
 * @param {string} action
 */
export const confirmAction = (title, text, action) => openDialog(title, action, html.p(text));

/**
 * Opens a dialog for a text. Resolves with the text without spaces around it, or with undefined if it was cancelled.
 *
 * @param {string} title
 * @param {string} action
 * @param {string} label
 * @param {import('./dom.js').Properties} properties of the input
 * @param {string} [hint]
 * @returns {Promise<string | undefined>}
 */
export async function enterText(title, action, label, properties, hint) {
  const usual = { autocomplete: 'off', spellcheck: 'false', dir: 'auto', autofocus: true };
  const input = html.input({ ...usual, ...properties });
  const isSubmitted = await openDialog(title, action, hint && html.p(hint), field(label, input));
  return isSubmitted ? input.value.trim() : undefined;
}
