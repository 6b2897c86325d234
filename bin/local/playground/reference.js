/** @import { OpenApi, Operation } from './types.d.ts' */
import { byId, fill, html } from './dom.js';
import { field, fieldList, typeOf } from './schema.js';

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** The list and the descriptions of the routes of openapi.json. They are loaded when the reference is first opened. */
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
    const { title, version } = document.info;
    const link = html.a({ href: 'openapi.json' }, 'openapi.json');
    fill(
      list,
      ...routes.map((route) => html.li(html.a({ href: `#/reference/${route.id}` }, ...nameOf(route)))),
    );
    fill(
      view,
      html.div(
        { class: 'page' },
        html.h1(title),
        html.p({ class: 'hint' }, `Version ${version}, `, link),
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

/** @param {Pick<Route, 'method' | 'path'>} route */
export const nameOf = ({ method, path }) => [
  html.span({ class: 'method', 'data-method': method }, method),
  html.span({ class: 'path' }, path),
];

/**
 * @param {OpenApi} document
 * @param {Route} route
 */
function describe(document, route) {
  const { summary = '', description, parameters = [], requestBody, responses = {} } = route.operation;
  const body = Object.entries(requestBody?.content ?? {});
  const fields = parameters.map(({ name: given, in: location, required: isRequired = false, ...rest }) => {
    const name = location === 'header' ? `${given} (header)` : given;
    return field(document, { name, isRequired, ...rest }, 0);
  });
  return html.details(
    { class: 'route', id: `operation-${route.id}` },
    html.summary(...nameOf(route), html.span({ class: 'route-summary' }, summary)),
    description !== undefined && html.p(description),
    fields.length > 0 && html.h3('Parameters'),
    fields.length > 0 && html.ul({ class: 'fields' }, ...fields),
    ...body.flatMap(([type, { schema }]) => [
      html.h3('Body ', html.small(type)),
      fieldList(document, schema),
    ]),
    html.h3('Responses'),
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
        html.details(
          { class: 'body' },
          html.summary(`${type}: ${typeOf(document, schema)}`),
          fieldList(document, schema),
        ),
      );
  const outcome = html.span({ class: 'outcome', 'data-failed': isError }, status);
  return html.div({ class: 'response' }, outcome, html.span(description), ...bodies);
}
