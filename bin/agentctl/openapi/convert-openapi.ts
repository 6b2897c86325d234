import { describeIssues } from '#contract/describe-issues.ts';
import {
  configuredNames,
  formType,
  type HttpApiConfig,
  type HttpTool,
  httpTool,
  isJsonType,
} from '#contract/http-api.ts';
import { isList, isObject, isText, listOf, own, type SchemaObject } from '#contract/json-schema-rules.ts';
import { problemOfHeader } from '#contract/tools.ts';
import { type LiveTool, problemOfWords, uniqueName } from '#domain/tools/pin-tools.ts';
import { type Conversion, convertSchema, resolved, Skipped } from './convert-schema.ts';

/**
 * A document is OpenAPI 3.0 or 3.1, as YAML or JSON. Reads no other document and sends no request.
 * @throws Error such as for a document that is not valid, or that has a `$ref` to another one
 */
export async function readOpenApi(text: string): Promise<Pick<Conversion, 'document' | 'isOld'>> {
  // A deferred import: most commands do not need it.
  const { Validator } = await import('@seriousme/openapi-schema-validator');
  const validator = new Validator();
  // The validator takes a text of one line as the name of a file.
  const { valid, errors } = await validator.validate(`${text}\n`).catch((error: unknown) => {
    throw validator.specification ? error : new Error('It is empty');
  });
  const [first] = isList(errors) ? errors : [];
  const problem = first === undefined ? errors : `${first.instancePath || 'it'} ${first.message}`;
  if (!valid) throw new Error(`It is not a valid OpenAPI document: ${problem}`);
  const { version, specification: document } = validator;
  if (version !== '3.0' && version !== '3.1')
    throw new Error(`It is OpenAPI ${version}, and must be 3.0 or 3.1`);
  return { document, isOld: version === '3.0' };
}

const methods = 'get put post patch delete head options trace'.split(' ');

/**
 * Paths are sorted, so that their order does not change the names of tools.
 * @returns also what cannot be a tool, with a note that says why
 */
export function operationsOf(
  from: Pick<Conversion, 'document' | 'isOld'>,
  prefix: string,
  entry: Pick<HttpApiConfig, 'auth' | 'headers' | 'tools'>,
): LiveTool<HttpTool>[] {
  const { document } = from;
  const configured = configuredNames(entry.auth, entry.headers);
  const names = new Set<string>();
  const paths = Object.keys(Object(document.paths)).filter((path) => path.startsWith('/'));
  return paths.toSorted().flatMap((path) => {
    const { made: item, notes } = attempt(() => resolved(document, own(document.paths, path)));
    if (item === undefined) return [{ name: `${prefix} ${path}`, previous: undefined, tool: item, notes }];
    return methods
      .filter((method) => isObject(item[method]))
      .map((method): LiveTool<HttpTool> => {
        const id =
          own(item[method], 'operationId') ?? `${method}${path.replaceAll(/[^A-Za-z0-9]+(?!$)/g, '_')}`;
        const name = uniqueName(`${prefix}_${id}`, names);
        const request = { name, method: method.toUpperCase(), path };
        // An operation is the same while its method and path are.
        const previous = entry.tools.find((tool) => tool.path === path && tool.method === request.method);
        const conversion = { ...from, nodes: 0 };
        const { made: tool, notes } = attempt(() => toolOf(conversion, request, item, configured, previous));
        return { name, previous, tool, notes };
      });
  });
}

function attempt<Made>(make: () => Made): { made?: Made; notes: string[] } {
  try {
    return { made: make(), notes: [] };
  } catch (error) {
    if (!(error instanceof Skipped)) throw error;
    return { notes: [error.message] };
  }
}

/**
 * @param address where the document is: a file, or an address
 * @returns undefined if no absolute URL results, such as for a file whose server is only a path
 */
export function baseUrlOf({ servers }: SchemaObject, address: string): string | undefined {
  const [server] = listOf(servers);
  const template = String(own(server, 'url') ?? '/');
  const url = template.replaceAll(/\{([^{}]*)\}/g, (_, name) =>
    String(own(own(own(server, 'variables'), name), 'default')),
  );
  return URL.parse(url, URL.parse(address)?.href)?.href.replace(/\/$/, '');
}

/**
 * By the first scheme that the document requires, or else has: a bearer token, or an API key in a header or the query.
 * @returns the `auth` of an entry without the name of the secret
 * @throws Error for another scheme, such as HTTP basic, or for none
 */
export function authOf(document: SchemaObject) {
  const schemes = Object(own(document.components, 'securitySchemes'));
  const [first = ''] = [listOf(document.security)[0], schemes].flatMap((each) => Object.keys(Object(each)));
  const { type, scheme, in: location, name } = resolved(document, own(schemes, first));
  if (type === 'oauth2' || type === 'openIdConnect' || /^bearer$/i.test(String(scheme)))
    return { type: 'bearer' } as const;
  if (isText(name) && location === 'header') return { type: 'header', name, prefix: '' } as const;
  if (isText(name) && location === 'query') return { type: 'query', name } as const;
  throw new Error(
    'The document does not say how requests carry the secret: write auth into the entry, then import without --secret',
  );
}

function toolOf(
  conversion: Conversion,
  request: { name: string; method: string; path: string },
  item: SchemaObject,
  configured: readonly string[],
  previous: HttpTool | undefined,
): HttpTool {
  const operation = item[request.method.toLowerCase()] as SchemaObject;
  if (listOf(operation.servers ?? item.servers).length > 0) throw new Skipped('it has a server of its own');
  const { properties, required, add } = collectArguments(conversion);
  const all = [...listOf(item.parameters), ...listOf(operation.parameters)]
    .map((value) => resolved(conversion.document, value))
    .map((parameter) => [`${parameter.in} ${parameter.name}`, parameter] as const);
  // A parameter of the operation replaces that of its path.
  const declared = [...new Map(all).values()].filter((parameter) => !isLeftOut(parameter, configured));
  const { parameters: written = [], pick } = previous ?? {};
  const parameters = declared.map((parameter) => {
    const same = written.find((each) => each.in === parameter.in && each.name === parameter.name);
    if (same?.fixed !== undefined) return same;
    return { ...parameterOf(add, parameter), ...(same?.allow_slash && { allow_slash: true }) };
  });
  const further = written.filter((each) => each.fixed !== undefined && !parameters.includes(each));
  // A body of GET has no defined meaning in HTTP.
  const hasBody = operation.requestBody !== undefined && request.method !== 'GET';
  const body = hasBody ? bodyOf(add, resolved(conversion.document, operation.requestBody)) : null;
  const texts = new Set([operation.summary, operation.description].filter(isText));
  const tool = {
    ...{ ...request, parameters: [...parameters, ...further], body, pick },
    description: [...texts].join('\n\n').trim().slice(0, 8192).toWellFormed(),
    approval: request.method === 'GET' ? 'never' : 'always',
    input_schema: {
      ...{ type: 'object', properties, additionalProperties: false },
      required: required.length > 0 ? required : undefined,
    },
  };
  // Without undefined fields, as in a file: to `compareTools`, such a field would be a change.
  const { data, error } = httpTool.safeParse(JSON.parse(JSON.stringify(tool)), { reportInput: true });
  if (error !== undefined) throw new Skipped(describeIssues(error.issues, 'it'));
  const found = problemOfWords({ ...data, inputSchema: data.input_schema });
  if (found !== undefined) throw new Skipped([...found.field, found.problem].join(' '));
  return data;
}

/**
 * The parameter is not in the path, and the entry sends its name already; or OpenAPI says to ignore it; or it is an
 * optional header that tools may not send.
 */
function isLeftOut({ in: location, name, required }: SchemaObject, configured: readonly string[]): boolean {
  const lowerCase = String(name).toLowerCase();
  if (location !== 'path' && configured.includes(lowerCase)) return true;
  if (location !== 'header') return false;
  const isIgnored = ['accept', 'content-type', 'authorization'].includes(lowerCase);
  return isIgnored || (required !== true && problemOfHeader(lowerCase) !== undefined);
}

function collectArguments(conversion: Conversion) {
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  const add = (text: string, schema: unknown, { description, in: location, ...of }: SchemaObject): string => {
    const name = uniqueName(text, new Set(Object.keys(properties)), /[^A-Za-z0-9_.-]/g);
    const converted = Object(convertSchema(conversion, schema));
    // A parameter whose list is empty is not sent, so a required one needs an item.
    const isFilled = of.required === true && location !== undefined && converted.type === 'array';
    const least = isFilled && { minItems: Math.max(1, Number(converted.minItems ?? 1)) };
    properties[name] = { ...converted, ...least, ...(isText(description) && { description }) };
    if (of.required === true) required.push(name);
    return name;
  };
  return { properties, required, add };
}

type AddArgument = ReturnType<typeof collectArguments>['add'];

const supportedStyles: unknown[] = [undefined, 'form', 'simple', 'deepObject'];

function parameterOf(add: AddArgument, parameter: SchemaObject): object {
  const { name, in: location, style, explode, content, schema } = parameter;
  if (location === 'cookie') throw new Skipped(`it has the cookie ${name}`);
  if (!supportedStyles.includes(style)) throw new Skipped(`${name} has the style ${style}`);
  const [[type, media] = []] = Object.entries(Object(content));
  if (type !== undefined && !isJsonType(type)) throw new Skipped(`${name} has the type ${type}`);
  const argument = add(String(name), type === undefined ? schema : own(media, 'schema'), parameter);
  return { argument, name, in: location, style: type === undefined ? style : 'json', explode };
}

function bodyOf(add: AddArgument, body: SchemaObject): object {
  const types = Object.keys(Object(body.content));
  const type = types.find(isJsonType) ?? types.find((each) => each === formType);
  if (type === undefined) throw new Skipped(`its body is ${types.join(' or ')}`);
  const { schema, encoding } = Object(own(body.content, type));
  const styles = Object.entries<SchemaObject>(Object(encoding));
  const fields = styles.map(([name, { style, explode }]) => [name, { style, explode }] as const);
  const isEncoded = type === formType && fields.length > 0;
  return {
    ...{ argument: add('body', schema, body), content_type: type },
    encoding: isEncoded ? Object.fromEntries(fields) : undefined,
  };
}
