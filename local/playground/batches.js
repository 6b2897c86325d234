/** @import { Agent, Batch, BatchResult } from './types.d.ts' */
import { call } from './api.js';
import { byId, element, fill, pager, shortTime } from './dom.js';
import { markdownOf } from './markdown.js';
import { storedUser } from './session.js';

const batchesPerPage = 20;
const resultsPerPage = 50;
const pollMilliseconds = 1000;

/** The list of batches, the form for a new one, and the open one with its results. */
export function createBatches() {
  const list = byId('batch-list', HTMLUListElement);
  const pages = byId('batch-pages', HTMLElement);
  const view = byId('batches-view', HTMLElement);
  let offset = 0;
  let shownId = '';
  /** @type {AbortController | undefined} */
  let watching;

  async function loadList(from = offset) {
    offset = from;
    const { data, pagination } = await call('GET', '/batches', { query: { limit: batchesPerPage, offset } });
    const batches = /** @type {Batch[]} */ (data);
    fill(list, ...batches.map(itemOf));
    if (batches.length === 0) fill(list, element('li', { class: 'hint' }, 'No batch yet.'));
    fill(
      pages,
      pager(pagination, (target) => loadList(target)),
    );
  }

  /** @param {Batch} batch */
  const itemOf = (batch) =>
    element(
      'li',
      {},
      element(
        'a',
        { href: `#/batches/${batch.id}`, ...(batch.id === shownId && { 'aria-current': 'page' }) },
        element(
          'span',
          { class: 'name' },
          `${batch.total_requests} ${batch.total_requests === 1 ? 'request' : 'requests'}`,
          statusBadge(batch.status),
        ),
        element('span', { class: 'meta' }, `${shortTime(batch.created_at)} · ${batch.id.slice(0, 8)}`),
      ),
    );

  return {
    loadList,

    stopWatching: () => watching?.abort(),

    /** @param {Agent[]} agents */
    start(agents) {
      shownId = '';
      watching?.abort();
      fill(view, newBatchForm(agents));
    },

    /** @param {string} id */
    async open(id) {
      shownId = id;
      watching?.abort();
      watching = new AbortController();
      const { signal } = watching;
      const details = createDetails(id);
      fill(view, details.node);
      await loadList();
      while (!signal.aborted) {
        const batch = await details.load(signal);
        if (batch.status !== 'in_progress' && batch.status !== 'cancelling') break;
        await new Promise((resolve) => setTimeout(resolve, pollMilliseconds));
      }
      if (!signal.aborted) await loadList();
    },
  };
}

/** @param {Agent[]} agents */
function newBatchForm(agents) {
  const select = element(
    'select',
    {},
    ...agents.map(({ id, name }) => element('option', { value: id }, name)),
  );
  const input = element('textarea', { required: true, placeholder: 'One message on each line' });
  const problem = element('p', { class: 'error', role: 'alert', hidden: true });
  const count = element('span', { class: 'hint' }, 'up to 1,000');
  const linesOf = () =>
    input.value
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  input.addEventListener('input', () =>
    fill(count, linesOf().length === 1 ? '1 request' : `${linesOf().length} requests`),
  );

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    const requests = linesOf().map((message, index) => ({
      custom_id: `request-${index + 1}`,
      message,
      ...(storedUser() && { external_user_id: storedUser() }),
    }));
    try {
      const { data } = await call('POST', '/batches', { body: { agent_id: select.value, requests } });
      location.hash = `#/batches/${/** @type {Batch} */ (data).id}`;
    } catch (error) {
      problem.hidden = false;
      fill(problem, error instanceof Error ? error.message : String(error));
    }
  }

  return element(
    'form',
    { class: 'page', submit },
    element('h1', {}, 'New batch'),
    element(
      'p',
      {},
      'Each line becomes a request with a chat of its own. The requests run in the background.',
    ),
    element('label', { class: 'field' }, 'Agent', select),
    element('label', { class: 'field' }, 'Messages', input),
    element(
      'p',
      { class: 'form-end' },
      element('button', { type: 'submit', class: 'button primary' }, 'Submit the batch'),
      count,
    ),
    problem,
  );
}

/** @param {string} status */
const statusBadge = (status) =>
  element('span', { class: 'badge', 'data-status': status }, status.replaceAll('_', ' '));

/** @param {string} id */
function createDetails(id) {
  const status = element('span', { 'aria-live': 'polite' });
  const progress = element('progress', { 'aria-label': 'Requests that have ended', max: 1, value: 0 });
  const counts = element('p', { class: 'counts' });
  const cancel = element(
    'button',
    { type: 'button', class: 'small-button', hidden: true, click: cancelBatch },
    'Cancel the batch',
  );
  const problem = element('p', { class: 'error', role: 'alert', hidden: true });
  const results = element('ol', { class: 'results' });
  const pages = element('div', {});
  let offset = 0;

  async function cancelBatch() {
    try {
      show(/** @type {Batch} */ ((await call('POST', `/batches/${id}/cancel`)).data));
    } catch (error) {
      problem.hidden = false;
      fill(problem, error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {Batch} batch */
  function show(batch) {
    fill(status, statusBadge(batch.status));
    progress.max = batch.total_requests;
    progress.value = batch.completed_requests + batch.failed_requests;
    fill(
      counts,
      `${batch.completed_requests} completed, ${batch.failed_requests} failed, ${batch.total_requests} in all`,
    );
    cancel.hidden = batch.status !== 'in_progress';
  }

  /** @param {AbortSignal} [signal] */
  async function loadResults(signal) {
    const query = { limit: resultsPerPage, offset };
    const { data, pagination } = await call('GET', `/batches/${id}/results`, { query });
    if (signal?.aborted) return;
    fill(results, .../** @type {BatchResult[]} */ (data).map(resultItem));
    const open = (/** @type {number} */ target) => {
      offset = target;
      return loadResults();
    };
    fill(pages, pager(pagination, open));
  }

  return {
    node: element(
      'div',
      { class: 'page' },
      element('h1', {}, 'Batch ', status),
      element('p', { class: 'hint' }, id),
      progress,
      element('div', { class: 'form-end' }, counts, cancel),
      problem,
      results,
      pages,
    ),

    /**
     * Loads the batch, and its results so far.
     *
     * @param {AbortSignal} signal
     */
    async load(signal) {
      const batch = /** @type {Batch} */ ((await call('GET', `/batches/${id}`)).data);
      if (!signal.aborted) show(batch);
      await loadResults(signal);
      return batch;
    },
  };
}

/** @param {BatchResult} result */
const resultItem = ({
  custom_id,
  status,
  response_content,
  response_usage,
  error_code,
  error_message,
  history_id,
}) =>
  element(
    'li',
    { class: 'result' },
    element(
      'div',
      { class: 'result-head' },
      element('strong', {}, custom_id),
      statusBadge(status),
      element('span', { class: 'spacer' }),
      response_usage !== null && element('span', { class: 'usage' }, `${response_usage.total_tokens} tokens`),
      history_id !== null && element('a', { href: `#/chats/${history_id}` }, `Chat ${history_id}`),
    ),
    response_content !== null && markdownOf(response_content),
    error_message !== null && element('p', { class: 'error' }, `${error_message} (${error_code})`),
  );
