/** @import { UploadedFile } from './types.d.ts' */

// The names of what the browser stores. The key, the token, the user and the unsent messages are those of this tab. The
// ids of running replies are for all tabs.

const KEY = 'api-key';
const OPERATOR_TOKEN = 'operator-token';
const USER = 'external-user-id';
const DRAFT = 'draft-';
const RUNNING = 'running-';
/** A longer draft is not stored: the service would reject it. */
const draftCharacters = 262_144;

/**
 * Removes the key and the operator's token from the address, so that a copied address does not have them. Stores the
 * token, and returns the key, null if the address has none.
 */
export function takeKeyFromAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  const key = address.get('key');
  const token = address.get('operator');
  if (key !== null) history.replaceState(null, '', location.pathname);
  if (key !== null && token !== null) sessionStorage.setItem(OPERATOR_TOKEN, token);
  return key;
}

/** The operator's token; empty if the address that the run has printed was not opened in this tab. */
export const storedOperatorToken = () => sessionStorage.getItem(OPERATOR_TOKEN) ?? '';

export const storedKey = () => sessionStorage.getItem(KEY) ?? '';

/** @param {string} key */
export function storeKey(key) {
  // The new key may belong to another workspace, and the files of unsent messages belong to the old one.
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(DRAFT)) sessionStorage.removeItem(name);
  sessionStorage.setItem(KEY, key.trim());
}

/** The external user of this tab, for example of its new chats. */
export const storedUser = () => sessionStorage.getItem(USER) || 'playground';

/** @param {string} user */
export const storeUser = (user) => sessionStorage.setItem(USER, user.trim());

/** @typedef {{ text: string, files: UploadedFile[] }} StoredDraft */

/**
 * The unsent message of a chat, or of the new one.
 *
 * @param {number | undefined} chatId
 * @returns {StoredDraft}
 */
export const storedDraft = (chatId) =>
  JSON.parse(sessionStorage.getItem(DRAFT + (chatId ?? '')) ?? '{"text":"","files":[]}');

/**
 * @param {number | undefined} chatId
 * @param {StoredDraft} draft
 */
export function storeDraft(chatId, draft) {
  const name = DRAFT + (chatId ?? '');
  if ((draft.text === '' && draft.files.length === 0) || draft.text.length > draftCharacters)
    sessionStorage.removeItem(name);
  else sessionStorage.setItem(name, JSON.stringify(draft));
}

/**
 * The response id of the chat's reply, if tabs of this browser have received the start of its stream and not the end.
 *
 * @param {number} chatId
 */
export const runningReply = (chatId) => localStorage.getItem(RUNNING + chatId) ?? undefined;

/**
 * @param {number} chatId
 * @param {string | undefined} responseId
 */
export function storeRunningReply(chatId, responseId) {
  if (responseId === undefined) localStorage.removeItem(RUNNING + chatId);
  else if (runningReply(chatId) !== responseId) localStorage.setItem(RUNNING + chatId, responseId);
}

/**
 * Calls the function when another tab has started a streamed reply.
 *
 * @param {(chatId: number) => void} observer
 */
export const onReplyElsewhere = (observer) =>
  addEventListener('storage', ({ key, newValue }) => {
    if (key?.startsWith(RUNNING) && newValue !== null) observer(Number(key.slice(RUNNING.length)));
  });
