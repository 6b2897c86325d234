/** @import { Form, FormField } from './types.d.ts' */
import { html, submitButton } from './dom.js';

/**
 * @param {unknown} args of a step
 * @returns {args is Form}
 */
export const isForm = (args) => Array.isArray(/** @type {Partial<Form>} */ (args).fields);

/**
 * A form that an agent asks to fill in. Its answers are one message, in which each field starts a line.
 *
 * @param {Form} form
 * @param {(text: string) => void} onResponse
 */
export function createForm({ title, description, fields }, onResponse) {
  const inputs = fields.map((field) => ({ field, input: inputOf(field) }));
  const submit = () =>
    onResponse(inputs.map(({ field, input }) => `${field.label}: ${textOf(input)}`).join('\n'));
  const labels = inputs.map(({ field: { label, type, required }, input }) => {
    const isCheck = type === 'boolean';
    return html.label(
      { class: isCheck ? 'check' : 'field' },
      required && !isCheck ? `${label} *` : label,
      input,
    );
  });
  return html.form(
    { class: 'asked', submit, 'aria-label': title, dir: 'auto' },
    html.fieldset(
      html.legend(title),
      description !== undefined && html.p(description),
      ...labels,
      submitButton('Send the answers'),
    ),
  );
}

/** @param {FormField} field */
function inputOf({ type, options = [], required = false }) {
  const isMultiple = type === 'multiselect';
  if (isMultiple || type === 'select')
    return html.select(
      { multiple: isMultiple, required },
      !isMultiple && html.option({ value: '' }, ''),
      ...options.map((option) => html.option(option)),
    );
  if (type === 'textarea') return html.textarea({ required, dir: 'auto' });
  if (type === 'boolean') return html.input({ type: 'checkbox' });
  return html.input({ type, required, dir: 'auto', step: type === 'number' ? 'any' : undefined });
}

/** @param {ReturnType<typeof inputOf>} input */
function textOf(input) {
  if (input instanceof HTMLSelectElement)
    return [...input.selectedOptions].map(({ value }) => value).join(', ');
  if (input.type === 'checkbox') return /** @type {HTMLInputElement} */ (input).checked ? 'yes' : 'no';
  return input.value.trim();
}
