/** @import { AgentTest } from './types.d.ts' */
import { field, fill, html, messageOf, onEnter, submitButton } from './dom.js';
import { createReply } from './messages.js';
import { operate } from './operator.js';

/**
 * The form for a test message, and the replies of the draft and of the published version to it, side by side.
 *
 * @param {{ save: () => Promise<string | undefined>, publishedNumber: () => number | undefined }} agent
 *   `save` saves the draft and returns the id of its agent; undefined if it could not be saved
 */
export function createTrial({ save, publishedNumber }) {
  const keydown = onEnter(() => form.requestSubmit());
  const message = html.textarea({ required: true, dir: 'auto', keydown });
  const tryButton = submitButton('Try it');
  const columns = html.div({ class: 'columns', 'aria-live': 'polite' });

  async function run() {
    const agentId = await save();
    if (agentId === undefined) return;
    const number = publishedNumber();
    const trials = [trialOf(agentId, message.value, 'draft', 'Draft')];
    if (number !== undefined)
      trials.push(trialOf(agentId, message.value, 'published', `Version ${number}, published`));
    fill(columns, ...trials.map(({ node }) => node));
    await Promise.all(trials.map(({ ended }) => ended));
  }

  const hint = 'Saves the draft first. Makes no chat; counts as usage of the kind “test”.';
  const form = html.form(
    {
      class: 'trial',
      async submit() {
        if (tryButton.disabled) return;
        tryButton.disabled = true;
        await run();
        tryButton.disabled = false;
      },
    },
    field('Test message', message),
    html.p({ class: 'form-end' }, tryButton, html.span({ class: 'hint' }, hint)),
  );
  return { nodes: [form, columns] };
}

const noRating = () => html.span();

/**
 * @param {string} agent_id
 * @param {string} message
 * @param {'draft' | 'published'} version
 * @param {string} title
 */
function trialOf(agent_id, message, version, title) {
  const reply = createReply(noRating, () =>
    reply.setNote('A test has one message. Publish the agent, and fill in its form in a chat.'),
  );
  reply.setNote('The reply is in progress …');
  const node = html.section({ 'aria-label': title }, html.h3(title), reply.node);
  const show = (/** @type {AgentTest} */ tested) => {
    reply.show(tested.reply, tested.milliseconds / 1000);
    reply.setNote(tested.provider ?? '');
  };
  const ended = operate('test', { agent_id, message, version }).then(show, (error) => {
    reply.setNote('');
    reply.fail(messageOf(error));
  });
  return { node, ended };
}
