/** @import { AgentDefinition } from './types.d.ts' */
import { orderedJson } from './agent-text.js';
import { field, html, messageOf } from './dom.js';

/** The definition of a new agent before a person changes it. @type {AgentDefinition} */
export const newDefinition = {
  name: '',
  description: '',
  agent_type: 'consultant',
  system_prompt: '',
  llm_model: 'demo',
  unified_tools: [],
  suggested_questions: [],
  use_search: false,
  meta: {},
};

/**
 * The form of an agent: inputs for name, model, description and prompt, and JSON for all other fields.
 *
 * @param {() => void} onInput
 */
export function createAgentForm(onInput) {
  const input = (/** @type {import('./dom.js').Properties} */ properties) =>
    html.input({ autocomplete: 'off', spellcheck: 'false', input: onInput, ...properties });
  const fields = {
    name: input({ maxlength: 256, dir: 'auto' }),
    llm_model: input({ placeholder: 'openai:gpt-5-mini' }),
    description: input({ dir: 'auto' }),
    system_prompt: html.textarea({ dir: 'auto', input: onInput }),
    others: html.textarea({ class: 'code-field', spellcheck: 'false', input: onInput }),
  };
  const hint = 'demo ignores the prompt. README, “A real model”, has others.';
  const model = field('Model', fields.llm_model, html.span({ class: 'hint' }, hint));
  return {
    nodes: [
      html.div({ class: 'two-fields' }, field('Name', fields.name), model),
      field('Description', fields.description),
      field('Instructions (system_prompt)', fields.system_prompt),
      field('Tools, questions and settings, as JSON', fields.others),
    ],

    /** @param {AgentDefinition} definition */
    fill({ name, description, llm_model, system_prompt, ...others }) {
      const values = { name, description, llm_model, system_prompt, others: orderedJson(others) };
      // To set a value may move the cursor to its end.
      for (const [field, value] of Object.entries(values)) {
        const node = fields[/** @type {keyof typeof fields} */ (field)];
        if (node.value !== value) node.value = value;
      }
    },

    /**
     * Returns the definition in the fields.
     *
     * @throws {Error} if the JSON cannot be read, or is not an object
     */
    read() {
      return /** @type {AgentDefinition} */ ({
        name: fields.name.value,
        description: fields.description.value,
        llm_model: fields.llm_model.value,
        system_prompt: fields.system_prompt.value,
        ...objectIn(fields.others.value),
      });
    },
  };
}

/** @param {string} text */
function objectIn(text) {
  /** @type {unknown} */
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`The JSON cannot be read: ${messageOf(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new Error('The JSON must be an object.');
}
