/** @import { BatchResult, Envelope, Message } from './types.d.ts' */
import { call } from './api.js';
import { csvOf, requestsPerBatch } from './batch-file.js';
import { button, drawPager, fill, html } from './dom.js';
import { markdownOf } from './markdown.js';

const resultsPerPage = 50;

/**
 * The results of a batch: all, or only the failed ones.
 *
 * @param {string} id
 * @param {(chatId: number) => string} userOf
 * @param {(error: unknown) => void} onError
 */
export function createResults(id, userOf, onError) {
  const results = html.ol({ class: 'results' });
  const pages = html.div();
  const failedOnly = html.input({ type: 'checkbox', change: () => open(0).catch(onError) });
  /** The shown items. An item whose result has not changed stays. @type {Map<string, HTMLElement>} */
  let shown = new Map();
  let offset = 0;
  const questions = watchQuestions(userOf);

  /** @param {number} target */
  function open(target) {
    offset = target;
    return load();
  }

  /** @param {AbortSignal} [signal] */
  async function load(signal) {
    const query = { limit: resultsPerPage, offset, status: failedOnly.checked ? 'failed' : undefined };
    /** @type {Envelope<BatchResult[]>} */
    const { data, pagination } = await call('GET', `/batches/${id}/results`, { query });
    if (signal?.aborted) return;
    const before = shown;
    shown = new Map();
    for (const result of data) {
      const text = JSON.stringify(result);
      const item = before.get(text) ?? resultItem(result);
      shown.set(text, item);
      const question = item.querySelector('.question');
      if (!before.has(text) && question !== null) questions.observe(question);
    }
    if (shown.size === 0) shown.set('', html.li({ class: 'hint' }, 'No result.'));
    drawItems([...shown.values()]);
    drawPager(pages, pagination, (target) => open(target).then(() => results.scrollIntoView(), onError));
  }

  /**
   * Draws the items. An item that keeps its place is not inserted again, because it would lose the focus.
   *
   * @param {HTMLElement[]} items
   */
  function drawItems(items) {
    for (const [index, item] of items.entries()) {
      const present = results.children[index];
      if (present === undefined) results.append(item);
      else if (present !== item) present.replaceWith(item);
    }
    while (results.childElementCount > items.length) results.lastElementChild?.remove();
  }

  return {
    node: html.section(
      { class: 'result-list', 'aria-label': 'Results' },
      html.div(
        { class: 'form-end' },
        html.label({ class: 'check' }, failedOnly, 'Failed only'),
        html.span({ class: 'spacer' }),
        button('Download CSV', () => download(id, 'csv').catch(onError)),
        button('Download JSONL', () => download(id, 'jsonl').catch(onError)),
      ),
      results,
      pages,
    ),
    load,
  };
}

/**
 * @param {string} id
 * @param {'csv' | 'jsonl'} format
 */
async function download(id, format) {
  /** @type {Envelope<BatchResult[]>} */
  const { data } = await call('GET', `/batches/${id}/results`, { query: { limit: requestsPerBatch } });
  const text = format === 'csv' ? csvOf(data) : data.map((result) => `${JSON.stringify(result)}\n`).join('');
  const href = URL.createObjectURL(new Blob([text]));
  html.a({ href, download: `batch-${id}.${format}` }).click();
  URL.revokeObjectURL(href);
}

/**
 * Makes an observer of elements of questions. When one comes into view, its question is read from the chat of its
 * result.
 *
 * @param {(chatId: number) => string} userOf
 */
function watchQuestions(userOf) {
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || !(target instanceof HTMLElement)) continue;
      observer.unobserve(target);
      const chatId = Number(target.dataset.chat);
      readQuestion(chatId, Number(target.dataset.message), userOf(chatId)).then(
        (question) => fill(target, question),
        (error) => fill(target, `The message cannot be read: ${error.message}`),
      );
    }
  });
  return observer;
}

/** @param {string} status */
export const statusBadge = (status, text = status.replaceAll('_', ' ')) =>
  html.span({ class: 'badge', 'data-status': status }, text);

/**
 * The message that a result replies to; undefined if it is not among the newest messages of its chat.
 *
 * @param {number} chatId
 * @param {number} messageId of the reply; 0 if the request has failed: then the newest reply of the chat is taken
 * @param {string} user
 */
async function readQuestion(chatId, messageId, user) {
  const query = { external_user_id: user, order_by: 'desc' };
  /** @type {Envelope<Message[]>} */
  const { data: messages } = await call('GET', `/chats/${chatId}/messages`, { query });
  const reply = messages.find(({ id, role }) => (messageId === 0 ? role === 'assistant' : id === messageId));
  return messages.find(({ role, group_id }) => role === 'user' && group_id === reply?.group_id)?.content;
}

/** @param {BatchResult} result */
function resultItem(result) {
  const { custom_id, status, response_content, response_usage, error_code, error_message } = result;
  const { history_id, message_id } = result;
  const hasEnded = status === 'success' || status === 'failed';
  const ids = { 'data-chat': history_id ?? undefined, 'data-message': message_id ?? 0 };
  const question = { class: 'question text', dir: 'auto', ...ids };
  return html.li(
    { class: 'result' },
    html.div(
      { class: 'result-head' },
      html.strong({ dir: 'auto' }, custom_id),
      statusBadge(status),
      html.span({ class: 'spacer' }),
      response_usage !== null && html.span({ class: 'usage' }, `${response_usage.total_tokens} tokens`),
      history_id !== null && html.a({ href: `#/chats/${history_id}` }, `Chat ${history_id}`),
    ),
    hasEnded && history_id !== null && html.p(question),
    response_content !== null && markdownOf(response_content),
    error_message !== null && html.p({ class: 'error' }, `${error_message} (${error_code})`),
  );
}
