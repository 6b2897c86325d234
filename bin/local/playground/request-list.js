/** @import { SentRequest } from './types.d.ts' */
import { curlOf, onRequest } from './api.js';
import { byId, copyButton, fill, html } from './dom.js';
import { nameOf } from './reference.js';
import { storedKey } from './session.js';

const shownRequests = 50;

/** Lists the page's last requests to the API, newest first, each with a curl command. */
export function showRequests() {
  const list = byId('requests', HTMLOListElement);
  const showsKey = byId('show-key', HTMLInputElement);
  /** @type {Map<SentRequest, HTMLLIElement>} */
  const items = new Map();

  /** @param {SentRequest} sent */
  function draw(sent) {
    const item = items.get(sent) ?? html.li();
    const isOpen = item.querySelector('details')?.open ?? false;
    const command = () => curlOf(sent, showsKey.checked ? storedKey() : undefined);
    fill(item, describe(sent, isOpen, command));
    if (items.has(sent)) return;
    // A repeated GET replaces its previous entry, if that one succeeded. So polls do not fill the list.
    const repeated = [...items.keys()].find((other) => isSameRead(other, sent));
    if (repeated !== undefined) remove(repeated);
    items.set(sent, item);
    list.prepend(item);
    const [oldest] = items.keys();
    if (items.size > shownRequests && oldest !== undefined) remove(oldest);
  }

  /** @param {SentRequest} sent */
  function remove(sent) {
    items.get(sent)?.remove();
    items.delete(sent);
  }

  onRequest(draw);
  showsKey.addEventListener('change', () => {
    for (const sent of items.keys()) draw(sent);
  });
}

/**
 * @param {SentRequest} one
 * @param {SentRequest} other
 */
const isSameRead = (one, other) =>
  one.method === 'GET' && other.method === 'GET' && one.path === other.path && one.status === 200;

/**
 * @param {SentRequest} sent
 * @param {boolean} isOpen
 * @param {() => string} command
 */
function describe({ method, path, status, milliseconds, requestId }, isOpen, command) {
  const isFailed = status !== undefined && status >= 400;
  const outcome = html.span({ class: 'outcome', 'data-failed': isFailed }, status ?? '…');
  return html.details(
    { open: isOpen },
    html.summary(...nameOf({ method, path }), outcome),
    html.pre(command()),
    html.p(
      { class: 'facts' },
      copyButton(command, 'Copy as curl'),
      milliseconds !== undefined && html.span(`${milliseconds} ms to the first byte`),
      requestId !== undefined && html.span(requestId),
    ),
  );
}
