/** @import { OpenApi, Schema } from './types.d.ts' */
import { html } from './dom.js';

/**
 * The levels of nested lists of fields, the outer list included. Of deeper objects only the type is shown, so that
 * lists stay readable.
 */
const shownDepth = 3;

/**
 * @param {OpenApi} document
 * @param {Schema | undefined} schema
 * @returns {{ schema: Schema, name: string | undefined }} without a reference
 */
function resolve(document, schema = {}) {
  const name = schema.$ref?.split('/').at(-1);
  const target = name === undefined ? undefined : document.components?.schemas?.[name];
  return { schema: target ?? schema, name };
}

/**
 * Of a schema that is a choice of one schema and null, that one schema; any other schema as it is. References are
 * resolved.
 *
 * @param {OpenApi} document
 * @param {Schema | undefined} given
 * @returns {{ schema: Schema, name: string | undefined, isNullable: boolean }}
 */
function withoutNull(document, given) {
  const { schema, name } = resolve(document, given);
  const choices = schema.anyOf?.filter(({ type }) => type !== 'null');
  const [only, second] = choices ?? [];
  if (only === undefined || second !== undefined) return { schema, name, isNullable: false };
  return { ...resolve(document, only), isNullable: true };
}

/**
 * The type of a schema in a few words, such as `array of Chat`.
 *
 * @param {OpenApi} document
 * @param {Schema | undefined} given
 * @returns {string}
 */
export function typeOf(document, given) {
  const { schema, name, isNullable } = withoutNull(document, given);
  const text = namedType(document, schema, name);
  return isNullable ? `${text} or null` : text;
}

/**
 * @param {OpenApi} document
 * @param {Schema} schema
 * @param {string | undefined} name
 * @returns {string}
 */
function namedType(document, schema, name) {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return name ?? choices.map((choice) => typeOf(document, choice)).join(' or ');
  if (schema.items !== undefined) return `array of ${typeOf(document, schema.items)}`;
  if (schema.properties !== undefined) return name ?? 'object';
  return schema.format ?? [schema.type ?? 'any'].flat().join(' or ');
}

/** @param {Schema} schema */
function boundsOf(schema) {
  const bounds = [
    ['at least', schema.minimum ?? schema.minLength ?? schema.minItems],
    ['at most', schema.maximum ?? schema.maxLength ?? schema.maxItems],
    ['default', schema.default === undefined ? undefined : JSON.stringify(schema.default)],
  ];
  const isKnown = (/** @type {unknown} */ value) => value !== undefined && value !== Number.MAX_SAFE_INTEGER;
  return bounds
    .filter(([, value]) => isKnown(value))
    .map(([word, value]) => `${word} ${value}`)
    .join(', ');
}

/**
 * The fields of a schema as a list, with those of nested objects; undefined if there are none to show.
 *
 * @param {OpenApi} document
 * @param {Schema | undefined} given
 * @returns {HTMLElement | undefined}
 */
export function fieldList(document, given, depth = 0) {
  const { schema } = withoutNull(document, given);
  if (schema.items !== undefined) return fieldList(document, schema.items, depth);
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined && schema.properties === undefined) return choiceList(document, choices, depth);
  if (schema.properties === undefined || depth >= shownDepth) return undefined;
  const items = Object.entries(schema.properties).map(([name, property]) =>
    field(document, { name, schema: property, isRequired: schema.required?.includes(name) ?? false }, depth),
  );
  return html.ul({ class: 'fields' }, ...items);
}

/**
 * @param {OpenApi} document
 * @param {Schema[]} choices
 * @param {number} depth
 */
function choiceList(document, choices, depth) {
  const lists = choices
    .map((choice) => fieldList(document, choice, depth + 1))
    .filter((list) => list !== undefined);
  if (lists.length === 0) return undefined;
  return html.ul({ class: 'fields' }, ...lists.map((list) => html.li(list)));
}

/**
 * @param {OpenApi} document
 * @param {{ name: string, schema?: Schema | undefined, isRequired: boolean, description?: string | undefined }} given
 * @param {number} depth
 */
export function field(document, { name, schema, isRequired, description }, depth) {
  const target = withoutNull(document, schema).schema;
  const text = description ?? schema?.description ?? target.description;
  const bounds = boundsOf({ ...target, ...schema });
  return html.li(
    html.code(name),
    html.span({ class: 'field-type' }, typeOf(document, schema)),
    isRequired && html.span({ class: 'field-required' }, 'required'),
    bounds !== '' && html.span({ class: 'field-bounds' }, bounds),
    text !== undefined && html.p(text),
    fieldList(document, schema, depth + 1),
  );
}
