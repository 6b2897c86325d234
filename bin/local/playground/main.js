/** @import { Agent, Envelope } from './types.d.ts' */
import { Agents } from './agents.js';
import { call, RequestFailed } from './api.js';
import { createBatches } from './batches.js';
import { Chats } from './chats.js';
import { confirmAction, enterText } from './dialogs.js';
import { button, byId, fill, html, messageOf } from './dom.js';
import { createReference } from './reference.js';
import { showRequests } from './request-list.js';
import { storedKey, storedUser, storeKey, storeUser, takeKeyFromAddress } from './session.js';

const invalidKey = 10001;
/** As in style.css: on narrower screens the inspector takes height from the messages, so it starts closed. */
const wide = matchMedia('(min-width: 70rem)');

const failure = byId('failure', HTMLElement);
const eventList = byId('events', HTMLElement);
const keyButton = byId('key', HTMLButtonElement);
const chats = new Chats((events) => fill(eventList, events));
const batches = createBatches((chatId) => chats.userOf(chatId));
const reference = createReference();
const editor = new Agents(() => {
  agents = undefined;
});
/** @type {Agent[] | undefined} */
let agents;

/** Opens what the address names, such as #/chats, #/chats/12, #/batches/ID, #/agents/ID or #/reference/ROUTE. */
async function route() {
  const [, view = 'chats', id] = location.hash.split('/');
  // Batches create chats, so the list is loaded again if the view before the chats was that of batches.
  const isBack = document.body.dataset.view === 'batches';
  showView(view);
  batches.stopWatching();
  failure.hidden = true;
  const hint = 'The address that npm start prints has the key. Without it, enter one.';
  if (storedKey() === '' && !(await changeKey(hint))) return;
  try {
    if (view === 'reference') await reference.open(id);
    else if (view === 'batches') await openBatches(id);
    else if (view === 'agents') await editor.open(id);
    else await openChats(id, isBack);
  } catch (error) {
    await showFailure(error);
  }
}

/**
 * Loads the published agents of the key's workspace, and the first page of its chats.
 *
 * @returns {Promise<Agent[]>}
 */
async function loadWorkspace() {
  /** @type {Envelope<Agent[]>} */
  const { data } = await call('GET', '/chats/published-agents');
  agents = data;
  chats.setAgents(agents);
  await chats.loadList(0);
  return agents;
}

/**
 * @param {string | undefined} id
 * @param {boolean} hasNewChats
 */
async function openChats(id, hasNewChats) {
  if (agents === undefined) await loadWorkspace();
  else if (hasNewChats) await chats.loadList(0);
  if (id === undefined) chats.start();
  else await chats.open(Number(id));
}

/** @param {string | undefined} id */
async function openBatches(id) {
  const published = agents ?? (await loadWorkspace());
  if (id !== undefined) return batches.open(id);
  batches.start(published);
  await batches.loadList(0);
}

/** @param {unknown} error */
async function showFailure(error) {
  if (error instanceof RequestFailed && error.code === invalidKey && (await changeKey(error.message)))
    return route();
  failure.hidden = false;
  fill(failure, html.span(messageOf(error)), button('Retry', route));
}

/**
 * Opens a dialog for a key, which is then used. Resolves with whether a key was entered.
 *
 * @param {string} [hint]
 */
async function changeKey(hint) {
  const properties = { type: 'password', required: true, placeholder: 'ak_…' };
  const key = await enterText('API key', 'Use this key', 'Key', properties, hint);
  if (!key) return false;
  storeKey(key);
  forget();
  return true;
}

/**
 * Uses the key in the address, if there is one. A page that links to this one chooses the address. So the key of the
 * address replaces another key only if the person agrees.
 */
async function useKeyOfAddress() {
  const key = takeKeyFromAddress();
  if (key === null || key === storedKey()) return;
  const text = `The address has the key …${key.slice(-4)}. What you send then goes to its workspace.`;
  if (storedKey() !== '' && !(await confirmAction('Another API key', text, 'Use it'))) return;
  storeKey(key);
  forget();
}

/**
 * Forgets the data of the previous key, because the new key may be of another workspace. Shows the last characters of
 * the key, if there is one.
 */
function forget() {
  agents = undefined;
  editor.forget();
  fill(keyButton, storedKey() === '' ? 'Enter a key' : `Key …${storedKey().slice(-4)}`);
}

/** @param {string} view */
function showView(view) {
  const shown = ['chats', 'batches', 'agents', 'reference'].includes(view) ? view : 'chats';
  document.body.dataset.view = shown;
  setPanel('side', 'closed');
  for (const section of document.querySelectorAll('[data-of]'))
    if (section instanceof HTMLElement) section.hidden = section.dataset.of !== shown;
  for (const link of document.querySelectorAll('#views a'))
    link.ariaCurrent = link.getAttribute('href') === `#/${shown}` ? 'page' : null;
}

/**
 * Lets the panel's button open and close it.
 *
 * @param {'side' | 'inspector'} panel
 */
function toggle(panel) {
  byId(`${panel}-toggle`, HTMLButtonElement).addEventListener('click', () =>
    setPanel(panel, document.body.dataset[panel] === 'open' ? 'closed' : 'open'),
  );
}

/**
 * @param {'side' | 'inspector'} panel
 * @param {'open' | 'closed'} state
 */
function setPanel(panel, state) {
  document.body.dataset[panel] = state;
  byId(`${panel}-toggle`, HTMLButtonElement).setAttribute('aria-expanded', String(state === 'open'));
}

/**
 * Closes an open panel; on a wide screen, only the one that has the focus.
 *
 * @param {KeyboardEvent} event
 */
function closeByEscape({ key, defaultPrevented }) {
  if (key !== 'Escape' || defaultPrevented || byId('dialog', HTMLDialogElement).open) return;
  for (const panel of /** @type {const} */ (['side', 'inspector'])) {
    const hasFocus = byId(panel, HTMLElement).contains(document.activeElement);
    if (document.body.dataset[panel] !== 'open' || (wide.matches && !hasFocus)) continue;
    setPanel(panel, 'closed');
    if (hasFocus) byId(`${panel}-toggle`, HTMLButtonElement).focus();
    return;
  }
}

/** @param {'events' | 'requests'} name */
function selectTab(name) {
  for (const tab of ['events', 'requests']) {
    const button = byId(`${tab}-tab`, HTMLButtonElement);
    button.setAttribute('aria-selected', String(tab === name));
    button.tabIndex = tab === name ? 0 : -1;
    byId(`${tab}-panel`, HTMLElement).hidden = tab !== name;
  }
}

function prepareTabs() {
  for (const tab of /** @type {const} */ (['events', 'requests']))
    byId(`${tab}-tab`, HTMLButtonElement).addEventListener('click', () => selectTab(tab));
  byId('tabs', HTMLElement).addEventListener('keydown', ({ key }) => {
    if (key !== 'ArrowLeft' && key !== 'ArrowRight') return;
    const other = document.activeElement?.id === 'events-tab' ? 'requests' : 'events';
    selectTab(other);
    byId(`${other}-tab`, HTMLButtonElement).focus();
  });
  selectTab('events');
}

setPanel('inspector', wide.matches ? 'open' : 'closed');
await useKeyOfAddress();
forget();
toggle('side');
toggle('inspector');
prepareTabs();
const user = byId('user', HTMLInputElement);
user.value = storedUser();
user.addEventListener('change', () => storeUser(user.value));
showRequests();
addEventListener('keydown', closeByEscape);
// No form loads another page.
addEventListener('submit', (event) => event.preventDefault());
keyButton.addEventListener('click', async () => {
  if (await changeKey()) await route();
});
byId('side', HTMLElement).addEventListener('click', ({ target }) => {
  // A link to the current address causes no `hashchange`, so the list is closed here too.
  if (target instanceof Element && target.closest('a') !== null) setPanel('side', 'closed');
});
// On a phone, the list covers a part of the rest, so it is closed when a person touches the rest.
byId('main', HTMLElement).addEventListener('pointerdown', () => setPanel('side', 'closed'));
addEventListener('hashchange', async () => {
  byId('dialog', HTMLDialogElement).close();
  await useKeyOfAddress();
  void route();
});
await route();
