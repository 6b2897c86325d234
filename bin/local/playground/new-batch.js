/** @import { Agent, Batch, BatchRequest, Envelope } from './types.d.ts' */
import { call } from './api.js';
import { linesOf, requestsOf, requestsPerBatch } from './batch-file.js';
import { createProblem, field, fill, html, selectOf, submitButton } from './dom.js';
import { storedUser } from './session.js';

/** @param {Agent[]} agents */
export function newBatchForm(agents) {
  const select = selectOf(agents);
  const input = html.textarea({
    required: true,
    dir: 'auto',
    placeholder: 'One message on each line',
    input: () => showCount(),
  });
  const file = html.input({ type: 'file', accept: '.txt,.csv,.jsonl', change: () => readFile() });
  const problem = createProblem();
  const count = html.span({ class: 'hint', role: 'status' });
  /** The requests of the file. They replace those of the text. @type {BatchRequest[] | undefined} */
  let fromFile;

  const requests = () => fromFile ?? (linesOf(input.value).length === 0 ? [] : requestsOf('', input.value));

  function showCount() {
    const { length } = requests();
    const batches = Math.ceil(length / requestsPerBatch);
    const words = length === 1 ? '1 request' : `${length.toLocaleString()} requests`;
    fill(count, batches > 1 ? `${words} in ${batches} batches` : words);
  }

  async function readFile() {
    const [chosen] = file.files ?? [];
    problem.node.hidden = true;
    fromFile = undefined;
    try {
      fromFile = chosen && requestsOf(chosen.name, await chosen.text());
    } catch (error) {
      file.value = '';
      problem.show(error);
    }
    input.disabled = fromFile !== undefined;
    showCount();
  }

  const submit = () =>
    submitAll(select.value, requests()).then((id) => {
      location.hash = `#/batches/${id}`;
    }, problem.show);

  showCount();
  return html.form(
    { class: 'page', submit },
    html.h1('New batch'),
    html.p('Each line becomes a request with a chat of its own. The requests run in the background.'),
    field('Agent', select),
    field('Messages', input),
    field('Or a file: .txt, .jsonl, or .csv with a column message', file),
    html.p({ class: 'form-end' }, submitButton('Submit the batch'), count),
    problem.node,
  );
}

/**
 * @param {string} agent_id
 * @param {BatchRequest[]} requests
 * @returns {Promise<string>} the id of the first batch
 */
async function submitAll(agent_id, requests) {
  const all = requests.map((request) => ({ external_user_id: storedUser(), ...request }));
  const ids = [];
  for (let start = 0; start < all.length; start += requestsPerBatch) {
    const body = { agent_id, requests: all.slice(start, start + requestsPerBatch) };
    /** @type {Envelope<Batch>} */
    const { data } = await call('POST', '/batches', { body });
    ids.push(data.id);
  }
  return ids[0] ?? '';
}
