/** @import { Agent } from './types.d.ts' */
import { button, element, field, fill, selectOf } from './dom.js';

/** @param {string} type of a tool or of its step, such as `consultant_search_web` */
export const toolName = (type) => type.replace(/^consultant_/, '').replaceAll('_', ' ');

/**
 * What a new chat starts with: the choice of an agent, and the agent's suggested questions.
 *
 * @param {Agent[]} agents
 * @param {{ onAgent: (agent: Agent) => void, onQuestion: (question: string) => void }} events
 * @returns {HTMLElement}
 */
export function createIntroduction(agents, { onAgent, onQuestion }) {
  const [first] = agents;
  if (first === undefined) return noAgent();
  const details = element('div', {});
  /** @param {Agent} agent */
  const choose = (agent) => {
    onAgent(agent);
    fill(details, ...detailsOf(agent, onQuestion));
  };
  const select = selectOf(agents);
  select.addEventListener('change', () => choose(agents.find(({ id }) => id === select.value) ?? first));
  choose(first);
  return element(
    'div',
    { class: 'introduction' },
    element('h1', {}, 'New chat'),
    field('Agent', select),
    details,
  );
}

const noAgent = () =>
  element(
    'div',
    { class: 'introduction' },
    element('h1', {}, 'No agent yet'),
    element('p', {}, 'The workspace of this key has no published agent.'),
    element('pre', {}, 'npm run agentctl -- agents publish AGENT'),
  );

/**
 * @param {Agent} agent
 * @param {(question: string) => void} onQuestion
 */
function detailsOf({ description, llm_model, unified_tools, suggested_questions }, onQuestion) {
  const tools = new Set(unified_tools.map(({ type }) => toolName(type)));
  const questions = suggested_questions.map((question) =>
    element(
      'li',
      {},
      button(question, () => onQuestion(question), { class: 'button' }),
    ),
  );
  return [
    description !== '' && element('p', {}, description),
    element(
      'p',
      { class: 'tags' },
      ...[llm_model, ...tools].map((tag) => element('span', { class: 'tag' }, tag)),
    ),
    questions.length > 0 &&
      element('ul', { class: 'questions', 'aria-label': 'Suggested questions' }, ...questions),
  ];
}
