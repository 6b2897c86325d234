/** @import { AgentDefinition } from './types.d.ts' */

import { diffLines } from '/jsdiff/diff/line.js';
import { html } from './dom.js';

/**
 * After this many milliseconds, a comparison is given up: that of two long texts without a common line may block the
 * page for long.
 */
const timeout = 500;

/**
 * The value as JSON, with the keys of objects in a fixed order: the table stores them in no order.
 *
 * @param {unknown} value
 * @returns {string}
 */
export const orderedJson = (value) =>
  JSON.stringify(
    value,
    (_key, inner) =>
      inner !== null && typeof inner === 'object' && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort())
        : inner,
    2,
  );

/**
 * A definition as a text, in which the prompt has its own lines.
 *
 * @param {AgentDefinition} definition
 */
export function textOf({ name, description, llm_model, system_prompt, ...others }) {
  const lines = [`name: ${name}`, `description: ${description}`, `llm_model: ${llm_model}`];
  return `${[...lines, 'system_prompt:', system_prompt, orderedJson(others)].join('\n')}\n`;
}

/**
 * An element with the differences of two texts, line by line. If the texts are equal, or the comparison is given up, it
 * has a hint instead.
 *
 * @param {string} before
 * @param {string} after
 */
export function differenceOf(before, after) {
  if (before === after) return html.p({ class: 'hint' }, 'There is no difference.');
  const changes = diffLines(before, after, { timeout });
  if (changes === undefined) return html.p({ class: 'hint' }, 'The texts have too little in common.');
  return html.pre(
    { class: 'difference', tabindex: 0, 'aria-label': 'Difference' },
    ...changes.flatMap(({ value, added, removed }) =>
      value
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => lineOf(line, { added, removed })),
    ),
  );
}

/**
 * @param {string} line
 * @param {{ added: boolean, removed: boolean }} change
 */
function lineOf(line, { added, removed }) {
  if (added) return html.ins(`+ ${line}`);
  return removed ? html.del(`- ${line}`) : html.span(`  ${line}`);
}
