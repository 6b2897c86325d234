/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, string | number | boolean | undefined | ((event: Event) => unknown)>} Properties of an element:
 *   attributes, and listeners by the names of their events
 */

/**
 * Creates elements by the names of their tags: `html.p({ class: 'hint' }, text)`, or `html.p(text)` without properties. Text
 * becomes text nodes, so markup in it has no effect.
 *
 * @type {{ [Tag in keyof HTMLElementTagNameMap]: {
 *   (properties: Properties, ...children: Child[]): HTMLElementTagNameMap[Tag],
 *   (...children: Child[]): HTMLElementTagNameMap[Tag],
 * } }}
 */
export const html = new Proxy(/** @type {any} */ ({}), {
  get:
    (_, /** @type {string} */ tag) =>
    (/** @type {any} */ first, /** @type {Child[]} */ ...others) =>
      first?.constructor === Object ? element(tag, first, ...others) : element(tag, {}, first, ...others),
});

/**
 * @param {string} tag
 * @param {Properties} properties
 * @param {...Child} children
 */
function element(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value !== undefined && value !== false)
      node.setAttribute(name, value === true ? '' : String(value));
  }
  fill(node, ...children);
  return node;
}

/**
 * Replaces the content of an element.
 *
 * @param {Element} node
 * @param {...Child} children
 */
export function fill(node, ...children) {
  const present = children.filter((child) => child !== null && child !== undefined && child !== false);
  node.replaceChildren(...present.map((child) => (child instanceof Node ? child : String(child))));
}

/**
 * @template {Element} Type
 * @param {string} id
 * @param {new () => Type} type
 * @returns {Type}
 */
export function byId(id, type) {
  const node = document.getElementById(id);
  if (node instanceof type) return node;
  throw new Error(`The page has no ${type.name} with the id ${id}`);
}

/**
 * Returns a function that requests the work: it runs once in the next frame, however often it was requested. A tab in
 * the background has no frames.
 *
 * @param {() => void} work
 */
export function onceAFrame(work) {
  let isRequested = false;
  return () => {
    if (isRequested) return;
    isRequested = true;
    requestAnimationFrame(() => {
      isRequested = false;
      work();
    });
  };
}

const paths = {
  send: 'M12 19V5M5 12l7-7 7 7',
  stop: 'M7 7h10v10H7z',
  clip: 'M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.5-8.5a3.4 3.4 0 0 1 4.8 4.8l-8.5 8.4a1.7 1.7 0 0 1-2.4-2.4l7.8-7.7',
  up: 'M7 11v9H4v-9zM7 11l4-8c1.5 0 2.6 1.2 2.4 2.7L13 9h5.5a2 2 0 0 1 2 2.4l-1.3 7a2 2 0 0 1-2 1.6H7',
  down: 'M17 13V4h3v9zM17 13l-4 8c-1.5 0-2.6-1.2-2.4-2.7L11 15H5.500a2 2 0 0 1-2-2.400l1.300-7a2 2 0 0 1 2-1.600H17',
  pencil: 'M4 20l1-4L16 5l3 3L8 19zM13.500 7.500l3 3',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.500 11v5M13.500 11v5',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  close: 'M6 6l12 12M18 6L6 18',
};

/** @param {keyof typeof paths} name */
function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'icon');
  svg.ariaHidden = 'true';
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', paths[name]);
  svg.append(path);
  return svg;
}

/**
 * @param {string} label
 * @param {(event: Event) => unknown} click
 * @param {Properties} [properties]
 */
export const button = (label, click, properties) =>
  html.button({ type: 'button', class: 'small-button', click, ...properties }, label);

/** @param {string} label */
export const submitButton = (label) => html.button({ type: 'submit', class: 'button primary' }, label);

/**
 * @param {string} label
 * @param {...Child} children the input first
 */
export const field = (label, ...children) => html.label({ class: 'field' }, label, ...children);

/**
 * @param {{ id: string, name: string }[]} items
 */
export const selectOf = (items) =>
  html.select(...items.map(({ id, name }) => html.option({ value: id }, name)));

/**
 * An entry of a list at the side, which links to what it names.
 *
 * @param {Properties} properties of the link
 * @param {Child[]} name
 * @param {(string | null)[]} facts
 */
export function linkItem(properties, name, facts) {
  const title = html.span({ class: 'name', dir: 'auto' }, ...name);
  const meta = html.span({ class: 'meta' }, facts.filter(Boolean).join(' · '));
  return html.li(html.a(properties, title, meta));
}

/**
 * A listener for keys, which calls `enter` at Enter without Shift, unless a word is being composed.
 *
 * @param {() => void} enter
 * @returns {(event: Event) => void}
 */
export const onEnter = (enter) => (event) => {
  if (!(event instanceof KeyboardEvent) || event.key !== 'Enter' || event.shiftKey || event.isComposing)
    return;
  event.preventDefault();
  enter();
};

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** An element that shows an error. It is hidden until there is one. */
export function createProblem(kind = 'error') {
  const node = html.p({ class: kind, role: 'alert', hidden: true });
  /** @param {unknown} error */
  const show = (error) => {
    node.hidden = false;
    fill(node, messageOf(error));
  };
  return { node, show };
}

/**
 * A button with an icon alone.
 *
 * @param {keyof typeof paths} name
 * @param {string} label
 * @param {Properties} properties
 */
export const iconButton = (name, label, properties) =>
  html.button(
    { type: 'button', class: 'icon-button', 'aria-label': label, title: label, ...properties },
    icon(name),
  );

/**
 * A button that copies a text, and then says whether that was allowed.
 *
 * @param {() => string} text
 * @param {string} label
 */
export function copyButton(text, label) {
  const caption = html.span(label);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      fill(caption, 'Copied');
    } catch {
      fill(caption, 'Not allowed');
    }
    setTimeout(() => fill(caption, label), 1500);
  };
  return html.button({ type: 'button', class: 'small-button', click: copy }, icon('copy'), caption);
}

/**
 * @param {unknown} value
 * @returns {string}
 */
export const pretty = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** @param {string} timestamp */
export function shortTime(timestamp) {
  const time = new Date(timestamp);
  const isToday = time.toDateString() === new Date().toDateString();
  return time.toLocaleString(undefined, isToday ? { timeStyle: 'short' } : { dateStyle: 'medium' });
}

/** @param {number} bytes */
export function sizeOf(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/**
 * Draws a list's buttons for the previous and the next page. Draws nothing if there are no other pages.
 *
 * @param {Element} node
 * @param {import('./types.d.ts').Pagination} pagination
 * @param {(offset: number) => unknown} open
 */
export function drawPager(node, { limit, offset, total_pages, current_page }, open) {
  const focused = [...node.querySelectorAll('button')].findIndex((each) => each.matches(':focus'));
  const previous = button('Previous', () => open(Math.max(0, offset - limit)), {
    disabled: current_page <= 1,
  });
  const next = button('Next', () => open(offset + limit), { disabled: current_page >= total_pages });
  const position = html.span(`${current_page} of ${total_pages}`);
  const pager = html.nav({ class: 'pager', 'aria-label': 'Pages' }, previous, position, next);
  fill(node, total_pages > 1 && pager);
  // On the first and on the last page, a button is disabled and cannot have the focus.
  const usable = (focused === 1 ? [next, previous] : [previous, next]).find(({ disabled }) => !disabled);
  if (focused >= 0) usable?.focus({ preventScroll: true });
}
