/** The key and the user of this tab. Both are gone when the tab is closed. */

const KEY = 'api-key';
const USER = 'external-user-id';

/** Removes the key from the address and returns it, so that neither the history nor a copied address has it. */
export function takeKeyFromAddress() {
  const key = new URLSearchParams(location.hash.slice(1)).get('key');
  if (key !== null) history.replaceState(null, '', location.pathname);
  return key;
}

export const storedKey = () => sessionStorage.getItem(KEY) ?? '';

/** @param {string} key */
export const storeKey = (key) => sessionStorage.setItem(KEY, key.trim());

/** The external user of new chats, and the one who rates. */
export const storedUser = () => sessionStorage.getItem(USER) || 'playground';

/** @param {string} user */
export const storeUser = (user) => sessionStorage.setItem(USER, user.trim());
