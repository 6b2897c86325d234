/** @import { StreamEvent } from './types.d.ts' */
import { element, fill } from './dom.js';

/** The raw events of a conversation's streams, with the time since the request was sent. */
export function createEventList() {
  const list = element('ol', { class: 'events' });
  const hint = element('p', { class: 'hint' }, 'The events of a streamed reply appear here as they come.');
  let startedAt = 0;
  return {
    node: element('div', {}, hint, list),

    /** Starts the list of a new stream. */
    start() {
      startedAt = performance.now();
      hint.hidden = true;
      fill(list);
    },

    /**
     * @param {string} raw
     * @param {StreamEvent | undefined} event
     */
    add(raw, event) {
      const type = event?.type ?? '[DONE]';
      const milliseconds = Math.round(performance.now() - startedAt);
      const summary = element(
        'summary',
        {},
        element('span', { class: 'event-number' }, event?.sequence_number ?? ''),
        element('span', { class: 'event-type', 'data-kind': kindOf(type) }, type.replace(/^response\./, '')),
        element('span', { class: 'event-preview' }, previewOf(event)),
        element('span', { class: 'event-time' }, `${milliseconds} ms`),
      );
      list.append(element('li', {}, element('details', {}, summary, element('pre', {}, raw))));
    },
  };
}

/** @param {string} type */
function kindOf(type) {
  if (type === 'response.error') return 'error';
  if (type.startsWith('response.reasoning_step')) return 'step';
  return type === 'response.output_text.delta' ? 'delta' : 'other';
}

/** @param {StreamEvent | undefined} event */
function previewOf(event) {
  switch (event?.type) {
    case 'response.created':
      return event.model;
    case 'response.output_text.delta':
      return event.delta;
    case 'response.chat.title.updated':
      return event.name;
    case 'response.reasoning_step.start':
      return event.step.type;
    case 'response.output_text.completed':
      return event.incomplete ?? '';
    case 'response.error':
      return event.message;
    default:
      return '';
  }
}
