/** @import { Agent } from './types.d.ts' */
import { Agents } from './agents.js';
import { call, RequestFailed } from './api.js';
import { createBatches } from './batches.js';
import { Chats } from './chats.js';
import { confirmAction, enterText } from './dialogs.js';
import { button, byId, element, fill, messageOf } from './dom.js';
import { createReference } from './reference.js';
import { showRequests } from './request-list.js';
import { storedKey, storedUser, storeKey, storeUser, takeKeyFromAddress } from './session.js';

const invalidKey = 10001;
/** As in style.css: on narrower screens the inspector takes the place of messages, so it starts closed. */
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

/** Opens what the address names: #/chats, #/chats/12, #/batches/ID, #/agents/ID, #/reference/ROUTE. */
async function route() {
  const [, view = 'chats', id] = location.hash.split('/');
  // Batches create chats, so the list of chats is loaded again after this view.
  const isBack = document.body.dataset.view === 'batches';
  showView(view);
  batches.stopWatching();
  failure.hidden = true;
  if (
    storedKey() === '' &&
    !(await changeKey('The address that npm start prints has the key. Without it, enter one.'))
  )
    return;
  try {
    if (view === 'reference') await reference.open(id);
    else if (view === 'batches') await openBatches(id);
    else if (view === 'agents') await editor.open(id);
    else await openChats(id, isBack);
  } catch (error) {
    await showFailure(error);
  }
}

async function loadWorkspace() {
  const { data } = await call('GET', '/chats/published-agents');
  agents = /** @type {Agent[]} */ (data);
  chats.setAgents(agents);
  await chats.loadList(0);
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
  if (agents === undefined) await loadWorkspace();
  if (id !== undefined) {
    await batches.open(id);
    return;
  }
  batches.start(agents ?? []);
  await batches.loadList(0);
}

/** @param {unknown} error */
async function showFailure(error) {
  if (error instanceof RequestFailed && error.code === invalidKey && (await changeKey(error.message))) {
    await route();
    return;
  }
  failure.hidden = false;
  fill(failure, element('span', {}, messageOf(error)), button('Retry', route));
}

/**
 * Resolves with whether there is a new key.
 *
 * @param {string} [hint]
 */
async function changeKey(hint) {
  const key = await enterText(
    'API key',
    'Use this key',
    'Key',
    { type: 'password', required: true, placeholder: 'ak_…' },
    hint,
  );
  if (key === undefined || key === '') return false;
  storeKey(key);
  forget();
  return true;
}

/**
 * A page that links to this one chooses the address. So the key of the address replaces another key only if the person
 * agrees.
 */
async function useKeyOfAddress() {
  const key = takeKeyFromAddress();
  if (key === null || key === storedKey()) return;
  if (
    storedKey() !== '' &&
    !(await confirmAction(
      'Another API key',
      `The address has the key …${key.slice(-4)}. What you send then goes to its workspace.`,
      'Use it',
    ))
  )
    return;
  storeKey(key);
  forget();
}

/** The new key may belong to another workspace. */
function forget() {
  agents = undefined;
  editor.forget();
  fill(keyButton, storedKey() === '' ? 'Enter a key' : `Key …${storedKey().slice(-4)}`);
}

/** @param {string} view */
function showView(view) {
  const shown = ['chats', 'batches', 'agents', 'reference'].includes(view) ? view : 'chats';
  document.body.dataset.view = shown;
  document.body.dataset.side = 'closed';
  for (const section of document.querySelectorAll('[data-of]'))
    if (section instanceof HTMLElement) section.hidden = section.dataset.of !== shown;
  for (const link of document.querySelectorAll('#views a')) {
    if (link.getAttribute('href') === `#/${shown}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

/**
 * A button that opens and closes a panel.
 *
 * @param {string} id
 * @param {'side' | 'inspector'} panel
 */
function toggle(id, panel) {
  const button = byId(id, HTMLButtonElement);
  const show = () => button.setAttribute('aria-expanded', String(document.body.dataset[panel] === 'open'));
  button.addEventListener('click', () => {
    document.body.dataset[panel] = document.body.dataset[panel] === 'open' ? 'closed' : 'open';
  });
  new MutationObserver(show).observe(document.body, { attributeFilter: [`data-${panel}`] });
  show();
}

/**
 * Closes a panel that was opened on a narrow screen, or that has the focus.
 *
 * @param {KeyboardEvent} event
 */
function closeByEscape({ key, defaultPrevented }) {
  if (key !== 'Escape' || defaultPrevented || byId('dialog', HTMLDialogElement).open) return;
  for (const panel of /** @type {const} */ (['side', 'inspector'])) {
    const hasFocus = byId(panel, HTMLElement).contains(document.activeElement);
    if (document.body.dataset[panel] !== 'open' || (wide.matches && !hasFocus)) continue;
    document.body.dataset[panel] = 'closed';
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
  const tabs = byId('tabs', HTMLElement);
  for (const tab of /** @type {const} */ (['events', 'requests']))
    byId(`${tab}-tab`, HTMLButtonElement).addEventListener('click', () => selectTab(tab));
  tabs.addEventListener('keydown', ({ key }) => {
    if (key !== 'ArrowLeft' && key !== 'ArrowRight') return;
    const other = document.activeElement?.id === 'events-tab' ? 'requests' : 'events';
    selectTab(other);
    byId(`${other}-tab`, HTMLButtonElement).focus();
  });
  selectTab('events');
}

function prepareUser() {
  const user = byId('user', HTMLInputElement);
  user.value = storedUser();
  user.addEventListener('change', () => storeUser(user.value));
}

document.body.dataset.inspector = wide.matches ? 'open' : 'closed';
await useKeyOfAddress();
forget();
toggle('side-toggle', 'side');
toggle('inspector-toggle', 'inspector');
prepareTabs();
prepareUser();
showRequests();
addEventListener('keydown', closeByEscape);
keyButton.addEventListener('click', async () => {
  if (await changeKey()) await route();
});
byId('side', HTMLElement).addEventListener('click', ({ target }) => {
  // A link to the current view does not change the address, so the list is closed here too.
  if (target instanceof Element && target.closest('a') !== null) document.body.dataset.side = 'closed';
});
// On a phone, the list covers a part of the rest.
byId('main', HTMLElement).addEventListener('pointerdown', () => {
  document.body.dataset.side = 'closed';
});
addEventListener('hashchange', async () => {
  byId('dialog', HTMLDialogElement).close();
  await useKeyOfAddress();
  void route();
});
await route();
