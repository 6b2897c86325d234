/** @import { OpenApi, Operation } from './types.d.ts' */
import { byId, element, fill } from './dom.js';
import { field, fieldList, typeOf } from './schema.js';

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** The routes of openapi.json, as a plain list. */
export function createReference() {
  const list = byId('route-list', HTMLUListElement);
  const view = byId('reference-view', HTMLElement);
  /** @type {Promise<void> | undefined} */
  let loaded;

  async function load() {
    const response = await fetch('openapi.json');
    if (!response.ok) throw new Error('openapi.json cannot be read');
    const document = /** @type {OpenApi} */ (await response.json());
    const routes = routesOf(document);
    fill(
      list,
      ...routes.map(({ id, method, path }) =>
        element(
          'li',
          {},
          element(
            'a',
            { href: `#/reference/${id}` },
            element('span', { class: 'method', 'data-method': method }, method),
            element('span', { class: 'path' }, path),
          ),
        ),
      ),
    );
    fill(
      view,
      element(
        'div',
        { class: 'page' },
        element('h1', {}, document.info.title),
        element(
          'p',
          { class: 'hint' },
          `Version ${document.info.version}, `,
          element('a', { href: 'openapi.json' }, 'openapi.json'),
        ),
        ...routes.map((route) => describe(document, route)),
      ),
    );
  }

  return {
    /** @param {string | undefined} id the operation to scroll to */
    async open(id) {
      loaded ??= load();
      await loaded.catch((error) => {
        loaded = undefined;
        throw error;
      });
      const details = id === undefined ? null : document.getElementById(`operation-${id}`);
      if (!(details instanceof HTMLDetailsElement)) return;
      details.open = true;
      details.scrollIntoView();
      details.querySelector('summary')?.focus({ preventScroll: true });
    },
  };
}

/** @typedef {{ id: string, method: string, path: string, operation: Operation }} Route */

/**
 * @param {OpenApi} document
 * @returns {Route[]}
 */
const routesOf = ({ paths }) =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => methods.includes(method))
      .map(([method, operation]) => ({
        id: `${method}${path.replace(/\W+/g, '-')}`,
        method: method.toUpperCase(),
        path,
        operation,
      })),
  );

/**
 * @param {OpenApi} document
 * @param {Route} route
 */
function describe(document, { id, method, path, operation }) {
  const { summary = '', description, parameters = [], requestBody, responses = {} } = operation;
  const body = Object.entries(requestBody?.content ?? {});
  return element(
    'details',
    { class: 'route', id: `operation-${id}` },
    element(
      'summary',
      {},
      element('span', { class: 'method', 'data-method': method }, method),
      element('span', { class: 'path' }, path),
      element('span', { class: 'route-summary' }, summary),
    ),
    description !== undefined && element('p', {}, description),
    parameters.length > 0 && element('h3', {}, 'Parameters'),
    parameters.length > 0 &&
      element(
        'ul',
        { class: 'fields' },
        ...parameters.map(({ name, in: location, required = false, ...parameter }) =>
          field(
            document,
            {
              name: location === 'header' ? `${name} (header)` : name,
              isRequired: required,
              ...parameter,
              schema: parameter.schema,
            },
            0,
          ),
        ),
      ),
    ...body.flatMap(([type, { schema }]) => [
      element('h3', {}, 'Body ', element('small', {}, type)),
      fieldList(document, schema),
    ]),
    element('h3', {}, 'Responses'),
    ...Object.entries(responses).map(([status, response]) => describeResponse(document, status, response)),
  );
}

/**
 * @param {OpenApi} document
 * @param {string} status
 * @param {NonNullable<Operation['responses']>[string]} response
 */
function describeResponse(document, status, { description = '', content = {} }) {
  const isError = Number(status) >= 400;
  const bodies = isError
    ? []
    : Object.entries(content).map(([type, { schema }]) =>
        element(
          'details',
          { class: 'body' },
          element('summary', {}, `${type}: ${typeOf(document, schema)}`),
          fieldList(document, schema),
        ),
      );
  return element(
    'div',
    { class: 'response' },
    element('span', { class: 'outcome', 'data-failed': isError }, status),
    element('span', {}, description),
    ...bodies,
  );
}
