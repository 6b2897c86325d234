/** @import { Form, FormField } from './types.d.ts' */
import { element } from './dom.js';

/**
 * @param {unknown} args of a step
 * @returns {args is Form}
 */
export const isForm = (args) => Array.isArray(/** @type {Partial<Form>} */ (args).fields);

/**
 * A form that an agent asks to fill in. The next message answers it, with a line for each field.
 *
 * @param {Form} form
 * @param {(text: string) => void} onResponse
 */
export function createForm({ title, description, fields }, onResponse) {
  const inputs = fields.map((field) => ({ field, input: inputOf(field) }));
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    const lines = inputs.map(({ field, input }) => `${field.label}: ${textOf(input)}`);
    onResponse(lines.join('\n'));
  };
  return element(
    'form',
    { class: 'asked', submit, 'aria-label': title, dir: 'auto' },
    element(
      'fieldset',
      {},
      element('legend', {}, title),
      description !== undefined && element('p', {}, description),
      ...inputs.map(({ field, input }) =>
        element(
          'label',
          { class: field.type === 'boolean' ? 'check' : 'field' },
          field.required && field.type !== 'boolean' ? `${field.label} *` : field.label,
          input,
        ),
      ),
      element('button', { type: 'submit', class: 'button primary' }, 'Send the answers'),
    ),
  );
}

/** @param {FormField} field */
function inputOf({ type, options = [], required = false }) {
  const isMultiple = type === 'multiselect';
  if (isMultiple || type === 'select')
    return element(
      'select',
      { multiple: isMultiple, required },
      !isMultiple && element('option', { value: '' }, ''),
      ...options.map((option) => element('option', {}, option)),
    );
  if (type === 'textarea') return element('textarea', { required, dir: 'auto' });
  if (type === 'boolean') return element('input', { type: 'checkbox' });
  return element('input', { type, required, dir: 'auto', step: type === 'number' ? 'any' : undefined });
}

/** @param {ReturnType<typeof inputOf>} input */
function textOf(input) {
  if (input instanceof HTMLSelectElement)
    return [...input.selectedOptions].map(({ value }) => value).join(', ');
  if (input.type === 'checkbox') return /** @type {HTMLInputElement} */ (input).checked ? 'yes' : 'no';
  return input.value.trim();
}
