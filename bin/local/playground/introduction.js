/** @import { Agent } from './types.d.ts' */
import { button, field, fill, html, selectOf } from './dom.js';

/** @param {string} type of a tool or of its step, such as `consultant_search_web` */
export const toolName = (type) => type.replace(/^consultant_/, '').replaceAll('_', ' ');

/**
 * What a new chat starts with, such as the choice of an agent.
 *
 * @param {Agent[]} agents
 * @param {{ onAgent: (agent: Agent) => void, onQuestion: (question: string) => void }} events
 * @returns {HTMLElement}
 */
export function createIntroduction(agents, { onAgent, onQuestion }) {
  const [first] = agents;
  if (first === undefined) return noAgent();
  const details = html.div();
  /** @param {Agent} agent */
  const choose = (agent) => {
    onAgent(agent);
    fill(details, ...detailsOf(agent, onQuestion));
  };
  const select = selectOf(agents);
  select.addEventListener('change', () => choose(agents.find(({ id }) => id === select.value) ?? first));
  choose(first);
  return html.div({ class: 'introduction' }, html.h1('New chat'), field('Agent', select), details);
}

const noAgent = () =>
  html.div(
    { class: 'introduction' },
    html.h1('No agent yet'),
    html.p('The workspace of this key has no published agent.'),
    html.pre('npm run agentctl -- agents publish AGENT'),
  );

/**
 * @param {Agent} agent
 * @param {(question: string) => void} onQuestion
 */
function detailsOf({ description, llm_model, unified_tools, suggested_questions }, onQuestion) {
  const tools = new Set(unified_tools.map(({ type }) => toolName(type)));
  const questions = suggested_questions.map((question) =>
    html.li(button(question, () => onQuestion(question), { class: 'button' })),
  );
  return [
    description !== '' && html.p(description),
    html.p({ class: 'tags' }, ...[llm_model, ...tools].map((tag) => html.span({ class: 'tag' }, tag))),
    questions.length > 0 &&
      html.ul({ class: 'questions', 'aria-label': 'Suggested questions' }, ...questions),
  ];
}
