/** @import { StreamEvent } from './types.d.ts' */
import { button, copyButton, fill, html, onceAFrame } from './dom.js';

/** @typedef {{ raw: string, event: StreamEvent | undefined, milliseconds: number }} Entry */

/** The most lines that the list has at first, and that a press of the button adds. A reply may have 20,000 events. */
const linesAtOnce = 200;
/** Longer events are shown in part, because their layout may take seconds. */
const shownCharacters = 100_000;

/** The raw events of a conversation's newest stream, each with its time since the stream was requested. */
export function createEventList() {
  const list = html.ol({ class: 'events' });
  const previous = button('', addPrevious, { hidden: true });
  /** @type {Entry[]} */
  let entries = [];
  let startedAt = 0;
  let lines = linesAtOnce;
  /** The list shows the entries from `first` to before `end`. */
  let first = 0;
  let end = 0;

  const draw = onceAFrame(() => {
    const start = Math.max(end, entries.length - lines);
    if (start > end) fill(list);
    list.append(...entries.slice(start).map(lineOf));
    end = entries.length;
    while (list.childElementCount > lines) list.firstElementChild?.remove();
    first = end - list.childElementCount;
    showPrevious();
  });

  function showPrevious() {
    previous.hidden = first === 0;
    fill(previous, `${first.toLocaleString()} earlier ${first === 1 ? 'event' : 'events'}`);
  }

  function addPrevious() {
    const from = Math.max(first - linesAtOnce, 0);
    list.prepend(...entries.slice(from, first).map(lineOf));
    first = from;
    lines += linesAtOnce;
    showPrevious();
  }

  return {
    node: html.div(previous, list),

    /** Starts the list of a new stream. */
    start() {
      startedAt = performance.now();
      entries = [];
      lines = linesAtOnce;
      first = 0;
      end = 0;
      fill(list);
      showPrevious();
    },

    /**
     * @param {string} raw
     * @param {StreamEvent | undefined} event
     */
    add(raw, event) {
      entries.push({ raw, event, milliseconds: Math.round(performance.now() - startedAt) });
      draw();
    },
  };
}

/** @param {Entry} entry */
function lineOf({ raw, event, milliseconds }) {
  const type = event?.type ?? '[DONE]';
  const summary = html.summary(
    html.span({ class: 'event-number' }, event?.sequence_number ?? ''),
    html.span({ class: 'event-type', 'data-kind': kindOf(type) }, type.replace(/^response\./, '')),
    html.span({ class: 'event-preview' }, event && previews[event.type]?.(/** @type {never} */ (event))),
    html.span({ class: 'event-time' }, `${milliseconds} ms`),
  );
  const body = html.div();
  const rest = raw.length - shownCharacters;
  const toggle = () => {
    const hint = `${rest.toLocaleString()} more characters `;
    const copy = copyButton(() => raw, 'Copy all');
    const more = rest > 0 && html.p({ class: 'hint' }, hint, copy);
    fill(body, html.pre(raw.slice(0, shownCharacters)), more);
  };
  return html.li(html.details({ toggle }, summary, body));
}

/** @param {string} type */
function kindOf(type) {
  if (type === 'response.error') return 'error';
  if (type.startsWith('response.reasoning_step')) return 'step';
  return type === 'response.output_text.delta' ? 'delta' : 'other';
}

/**
 * The preview of an event in its line, by the type of the event.
 *
 * @type {{ [Type in StreamEvent['type']]?: (event: Extract<StreamEvent, { type: Type }>) => string | undefined }}
 */
const previews = {
  'response.created': ({ model }) => model,
  'response.output_text.delta': ({ delta }) => delta,
  'response.chat.title.updated': ({ name }) => name,
  'response.reasoning_step.start': ({ step }) => step.type,
  'response.output_text.completed': ({ incomplete }) => incomplete,
  'response.error': ({ message }) => message,
};
