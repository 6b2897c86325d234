/** @import { Message, Step, StreamEvent, TokenUsage, UploadedFile } from './types.d.ts' */
import { copyButton, fill, html, pretty, sizeOf } from './dom.js';
import { createForm, isForm } from './form.js';
import { toolName } from './introduction.js';
import { Markdown } from './markdown.js';

const formStep = 'consultant_request_form';

/**
 * @param {Pick<Message, 'content' | 'attached_files'>} message
 */
export const userArticle = ({ content, attached_files }) =>
  html.article(
    { class: 'message user', 'aria-label': 'Your message' },
    html.div({ class: 'text', dir: 'auto' }, content),
    attached_files.length > 0 && html.ul({ class: 'files' }, ...attached_files.map(fileItem)),
  );

/** @param {UploadedFile} file */
function fileItem({ original_name, size, file_url }) {
  const name = /^https?:/.test(file_url)
    ? html.a({ href: file_url, download: true, rel: 'noreferrer' }, original_name)
    : original_name;
  return html.li(name, html.small(sizeOf(size)));
}

/**
 * A reply: first empty, then filled from a whole message, or from the events of its stream.
 *
 * @param {(messageId: number, counts: Message['feedback_counts']) => Node} ratingOf
 * @param {(text: string) => void} onResponse called with the answers of a form
 */
export function createReply(ratingOf, onResponse) {
  const text = new Markdown();
  const steps = html.div({ class: 'steps' });
  const note = html.p({ class: 'hint', role: 'status' });
  const footer = html.footer();
  const properties = { class: 'message reply', 'aria-label': 'Reply', 'aria-busy': 'true' };
  const node = html.article(properties, steps, text.node, note, footer);
  /** @type {Map<string, ReturnType<typeof createStep>>} */
  const openSteps = new Map();
  /** @type {number | undefined} */
  let messageId;

  /** @param {Omit<Step, 'result'>} step */
  function addStep(step) {
    const view = createStep(step);
    openSteps.set(step.id, view);
    steps.append(view.node);
    if (step.type === formStep && isForm(step.args)) note.before(createForm(step.args, onResponse));
    return view;
  }

  /**
   * @param {{ id: number | undefined, usage?: TokenUsage | undefined, incomplete?: string | undefined, seconds?: number
   * | undefined, counts?: Message['feedback_counts'] }} end
   */
  function finish({ id, usage, incomplete, seconds, counts = {} }) {
    node.setAttribute('aria-busy', 'false');
    fill(
      footer,
      text.text !== '' && copyButton(() => text.text, 'Copy'),
      id !== undefined && ratingOf(id, counts),
      incomplete !== undefined && html.span({ class: 'badge' }, incomplete),
      usage !== undefined && html.span({ class: 'usage' }, describeUsage(usage, seconds)),
    );
  }

  /** @param {string} message */
  function fail(message) {
    node.setAttribute('aria-busy', 'false');
    fill(note);
    text.node.after(html.p({ class: 'error', role: 'alert' }, message));
  }

  return {
    node,
    fail,

    /** @param {string} words */
    setNote(words) {
      if (note.textContent !== words) fill(note, words);
    },

    /**
     * Shows a reply that has ended. Without an id, it cannot be rated.
     *
     * @param {Pick<Message, 'content' | 'meta'> & Partial<Message>} message
     * @param {number} [seconds] that it took
     */
    show({ id, content, meta, feedback_counts = {} }, seconds) {
      text.complete(content);
      for (const step of meta.reasoning_steps ?? []) addStep(step).end(step.result);
      if (meta.error !== undefined) fail(`${meta.error.message} (${meta.error.code})`);
      finish({ id, usage: meta.token_usage, incomplete: meta.incomplete, counts: feedback_counts, seconds });
    },

    /**
     * @param {StreamEvent} event
     * @param {number | undefined} seconds since the request was sent; undefined if this page has not sent it
     */
    apply(event, seconds) {
      if (event.type === 'response.created') messageId = event.message_id;
      else if (event.type === 'response.output_text.delta') text.append(event.delta);
      else if (event.type === 'response.reasoning_step.start') addStep(event.step);
      else if (event.type === 'response.reasoning_step.end')
        openSteps.get(event.step.id)?.end(event.step.result);
      else if (event.type === 'response.output_text.completed') {
        text.complete(event.final_text);
        finish({ id: event.message_id, usage: event.usage, incomplete: event.incomplete, seconds });
      } else if (event.type === 'response.error') {
        fail(`${event.message} (${event.code})`);
        finish({ id: messageId });
      }
    },
  };
}

/**
 * @param {TokenUsage} usage
 * @param {number} [seconds]
 */
function describeUsage({ total_prompt_tokens, total_completion_tokens, total_calls, ...usage }, seconds) {
  const calls = total_calls === 1 ? '1 call' : `${total_calls} calls`;
  const parts = [`${total_prompt_tokens} + ${total_completion_tokens} tokens`, calls];
  if (usage.cached_prompt_tokens > 0) parts.push(`${usage.cached_prompt_tokens} cached`);
  if (seconds !== undefined) parts.push(`${seconds.toFixed(1)} s`);
  return parts.join(' · ');
}

/** @param {Omit<Step, 'result'>} step */
function createStep({ type, content, args }) {
  const state = html.span({ class: 'step-state' }, 'running');
  const result = html.div();
  const node = html.details(
    { class: 'step', 'data-state': 'running' },
    html.summary(
      html.span({ class: 'step-type' }, toolName(type)),
      html.span({ class: 'step-content' }, content),
      state,
    ),
    html.h4('Arguments'),
    html.pre(pretty(args)),
    result,
  );
  return {
    node,
    /** @param {Step['result']} value */
    end(value) {
      const outcome = value === null ? 'unfinished' : value.success ? 'done' : 'failed';
      node.dataset.state = outcome;
      fill(state, outcome);
      if (value !== null) fill(result, html.h4('Result'), html.pre(pretty(value.data)));
    },
  };
}
