/** @import { Agent, Batch, Envelope } from './types.d.ts' */
import { call } from './api.js';
import { createResults, statusBadge } from './batch-results.js';
import { button, byId, createProblem, drawPager, fill, html, linkItem, shortTime } from './dom.js';
import { newBatchForm } from './new-batch.js';

const batchesPerPage = 20;
const pollMilliseconds = 1000;

/**
 * The list of batches, the form for a new one, and the open one with its results.
 *
 * @param {(chatId: number) => string} userOf returns the external_user_id to read the chat with
 */
export function createBatches(userOf) {
  const list = byId('batch-list', HTMLUListElement);
  const pages = byId('batch-pages', HTMLElement);
  const view = byId('batches-view', HTMLElement);
  let offset = 0;
  let shownId = '';
  /** @type {AbortController | undefined} */
  let watching;

  async function loadList(from = offset) {
    offset = from;
    /** @type {Envelope<Batch[]>} */
    const { data, pagination } = await call('GET', '/batches', { query: { limit: batchesPerPage, offset } });
    fill(list, ...data.map(itemOf), data.length === 0 && html.li({ class: 'hint' }, 'No batch yet.'));
    drawPager(pages, pagination, (target) => loadList(target));
  }

  /** @param {Batch} batch */
  const itemOf = (batch) =>
    linkItem(
      { href: `#/batches/${batch.id}`, 'aria-current': batch.id === shownId && 'page' },
      [`${batch.total_requests} ${batch.total_requests === 1 ? 'request' : 'requests'}`, batchBadge(batch)],
      [shortTime(batch.created_at), batch.id.slice(0, 8)],
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
      const details = createDetails(id, userOf);
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

/** @param {Batch} batch */
function batchBadge({ status, failed_requests, total_requests }) {
  if (status !== 'completed' || failed_requests === 0) return statusBadge(status);
  if (failed_requests === total_requests) return statusBadge('failed', 'all failed');
  return statusBadge('partial', `${failed_requests} failed`);
}

/**
 * @param {string} id
 * @param {(chatId: number) => string} userOf
 */
function createDetails(id, userOf) {
  const status = html.span({ 'aria-live': 'polite' });
  const progress = html.progress({ 'aria-label': 'Requests that have ended', max: 1, value: 0 });
  const counts = html.p({ class: 'counts' });
  const problem = createProblem();
  const results = createResults(id, userOf, problem.show);

  const cancelBatch = () =>
    call('POST', `/batches/${id}/cancel`).then(({ data }) => show(data), problem.show);

  const cancel = button('Cancel the batch', cancelBatch, { hidden: true });

  /** @param {Batch} batch */
  function show(batch) {
    const { completed_requests, failed_requests, total_requests } = batch;
    fill(status, batchBadge(batch));
    progress.max = total_requests;
    progress.value = completed_requests + failed_requests;
    fill(counts, `${completed_requests} completed, ${failed_requests} failed, ${total_requests} in all`);
    cancel.hidden = batch.status !== 'in_progress';
  }

  return {
    node: html.div(
      { class: 'page' },
      html.h1('Batch ', status),
      html.p({ class: 'hint' }, id),
      progress,
      html.div({ class: 'form-end' }, counts, cancel),
      problem.node,
      results.node,
    ),

    /**
     * Loads the batch, and the shown page of its results.
     *
     * @param {AbortSignal} signal
     */
    async load(signal) {
      /** @type {Envelope<Batch>} */
      const { data: batch } = await call('GET', `/batches/${id}`);
      if (!signal.aborted) show(batch);
      await results.load(signal);
      return batch;
    },
  };
}
