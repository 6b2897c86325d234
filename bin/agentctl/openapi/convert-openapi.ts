import { describeIssue } from '#contract/describe-issues.ts';
import { configuredNames, formType, type HttpTool, httpTool, isJsonType } from '#contract/http-api.ts';
import {
  isBoolean,
  isList,
  isObject,
  isText,
  listOf,
  own,
  type SchemaObject,
} from '#contract/json-schema-rules.ts';
import { problemOfHeader, type ToolAuth } from '#contract/tools.ts';
import { byName, problemOfWords, uniqueName } from '#domain/tools/pin-tools.ts';
import { type Conversion, convertSchema, resolved, Skipped } from './convert-schema.ts';

interface OpenApiTools {
  /** Undefined if the document names only a path, or nothing, and was not fetched from an address. */
  baseUrl: string | undefined;
  /** How requests carry the secret. Undefined without a secret. */
  auth: ToolAuth | undefined;
  tools: HttpTool[];
  /** Operations that cannot be tools, with the reasons. */
  skipped: (Operation & { reason: string })[];
}

interface Options {
  /** The start of the names of tools. */
  prefix: string;
  /** The address of the document, if it is not a file. */
  address?: URL | undefined;
  /** The entry's `auth`, in place of what the document says. */
  auth?: ToolAuth | undefined;
  /** The name of the secret that requests carry. Default: that of `auth`. */
  secret?: string | undefined;
  /** Headers that all requests of the entry have. */
  headers?: object | undefined;
}

/**
 * The operations of an OpenAPI document (3.0 or 3.1, as YAML or JSON) as tools, in the order of their names. The same
 * document gives the same tools, whatever the order of its paths. Reads no other file and sends no request.
 * @throws Error if the document is not valid, if a path is in another document, or if it does not say how requests
 *   carry the secret
 */
export async function convertOpenApi(text: string, options: Options): Promise<OpenApiTools> {
  // A deferred import: it compiles large schemas.
  const { Validator } = await import('@seriousme/openapi-schema-validator');
  const validator = new Validator();
  // The validator takes a text of one line as the name of a file.
  const { valid, errors } = await validator.validate(`${text}\n`);
  const [first] = isList(errors) ? errors : [];
  const problem = first === undefined ? errors : `${first.instancePath || 'it'} ${first.message}`;
  if (!valid) throw new Error(`It is not a valid OpenAPI document: ${problem}`);
  if (!['3.0', '3.1'].includes(validator.version))
    throw new Error(`It is OpenAPI ${validator.version}, and must be 3.0 or 3.1`);
  return toolsOf(validator.specification, validator.version === '3.0', options);
}

const methods = 'get put post patch delete head options trace'.split(' ');

function toolsOf(document: SchemaObject, isOld: boolean, options: Options): OpenApiTools {
  const tools: HttpTool[] = [];
  const skipped: OpenApiTools['skipped'] = [];
  const names = new Set<string>();
  const { prefix, address, headers, secret } = options;
  const auth = secret === undefined ? options.auth : withSecret(secret, options.auth ?? authOf(document));
  const configured = configuredNames(auth, headers);
  const paths = Object.keys(Object(document.paths)).filter((path) => path.startsWith('/'));
  for (const path of paths.toSorted()) {
    const item = resolved(document, own(document.paths, path));
    for (const method of methods.filter((each) => isObject(item[each]))) {
      const id =
        own(item[method], 'operationId') ?? `${method}${path.replaceAll(/[^A-Za-z0-9]+(?!$)/g, '_')}`;
      const name = uniqueName(`${prefix}_${id}`, names);
      try {
        tools.push(toolOf({ document, isOld, nodes: 0 }, { name, method, path }, item, configured));
      } catch (error) {
        if (!(error instanceof Skipped)) throw error;
        skipped.push({ name, method: method.toUpperCase(), path, reason: error.message });
      }
    }
  }
  return { baseUrl: baseUrlOf(document, address), auth, tools: tools.toSorted(byName), skipped };
}

function baseUrlOf({ servers }: SchemaObject, address: URL | undefined): string | undefined {
  const [server] = listOf(servers);
  const template = own(server, 'url') ?? '/';
  const url = String(template).replaceAll(/\{([^{}]*)\}/g, (_, name) =>
    String(own(own(own(server, 'variables'), name), 'default')),
  );
  return URL.parse(url, address?.href)?.href.replace(/\/$/, '');
}

/**
 * How requests carry a secret by the first scheme that the document requires, or else has. The name of the secret is
 * missing. Empty if entries cannot have such a scheme.
 */
function authOf(document: SchemaObject): Partial<ToolAuth> {
  const schemes = Object(own(document.components, 'securitySchemes'));
  const [required = {}] = listOf(document.security);
  const [first = ''] = [...Object.keys(Object(required)), ...Object.keys(schemes)];
  const { type, scheme, in: location, name } = resolved(document, own(schemes, first));
  if (type === 'oauth2' || type === 'openIdConnect' || /^bearer$/i.test(String(scheme)))
    return { type: 'bearer' };
  if (type === 'apiKey' && isText(name) && location === 'header') return { type: 'header', name, prefix: '' };
  return type === 'apiKey' && isText(name) && location === 'query' ? { type: 'query', name } : {};
}

function withSecret(secret: string, auth: Partial<ToolAuth>): ToolAuth {
  if ('type' in auth) return { ...auth, secret } as ToolAuth;
  throw new Error(
    'The document does not say how requests carry the secret: write auth into the entry, then import without --secret',
  );
}

type Operation = Pick<HttpTool, 'name' | 'path'> & { method: string };

function toolOf(
  conversion: Conversion,
  { name, method, path }: Operation,
  item: SchemaObject,
  configured: readonly string[],
): HttpTool {
  const operation = item[method] as SchemaObject;
  if (listOf(operation.servers ?? item.servers).length > 0) throw new Skipped('it has a server of its own');
  const args = new Arguments(conversion);
  const all = [...listOf(item.parameters), ...listOf(operation.parameters)]
    .map((value) => resolved(conversion.document, value))
    .map((parameter) => [`${parameter.in} ${parameter.name}`, parameter] as const);
  // A parameter of the operation replaces that of its path.
  const parameters = [...new Map(all).values()]
    .filter((parameter) => !isLeftOut(parameter, configured))
    .map((parameter) => parameterOf(args, parameter));
  // A body of GET has no meaning in HTTP.
  const hasBody = operation.requestBody !== undefined && method !== 'get';
  const body = hasBody ? bodyOf(args, resolved(conversion.document, operation.requestBody)) : null;
  const texts = new Set([operation.summary, operation.description].filter(isText));
  return checked({
    name,
    description: [...texts].join('\n\n').trim().slice(0, 8192).toWellFormed(),
    approval: method === 'get' ? 'never' : 'always',
    ...{ method: method.toUpperCase(), path, parameters, body },
    input_schema: {
      ...{ type: 'object', properties: args.properties },
      ...(args.required.length > 0 && { required: args.required }),
      additionalProperties: false,
    },
  });
}

/**
 * Whether a parameter is no argument of the tool: the entry sends it already, OpenAPI says to ignore it, or it is an
 * optional header that tools may not send.
 */
function isLeftOut({ in: location, name, required }: SchemaObject, configured: readonly string[]): boolean {
  const lowerCase = String(name).toLowerCase();
  if (location !== 'path' && configured.includes(lowerCase)) return true;
  if (location !== 'header') return false;
  const isIgnored = ['accept', 'content-type', 'authorization'].includes(lowerCase);
  return isIgnored || (required !== true && problemOfHeader(lowerCase) !== undefined);
}

/** The arguments of an operation so far. */
class Arguments {
  readonly properties: Record<string, unknown> = {};
  readonly required: string[] = [];
  readonly #conversion: Conversion;
  readonly #names = new Set<string>();

  constructor(conversion: Conversion) {
    this.#conversion = conversion;
  }

  /** Adds an argument. Returns its name, which is unique in the tool. */
  add(text: string, schema: unknown = {}, { description, required, in: location }: SchemaObject): string {
    const name = uniqueName(text, this.#names, /[^A-Za-z0-9_.-]/g);
    const converted = convertSchema(this.#conversion, schema);
    // A parameter whose list is empty is not sent, so a required one needs an item.
    const isFilled = required === true && location !== undefined && own(converted, 'type') === 'array';
    const least = isFilled ? { minItems: 1 } : {};
    this.properties[name] = { ...least, ...Object(converted), ...(isText(description) && { description }) };
    if (required === true) this.required.push(name);
    return name;
  }
}

const unsupportedStyles = new Set<unknown>(['label', 'matrix', 'spaceDelimited', 'pipeDelimited']);

function parameterOf(args: Arguments, parameter: SchemaObject): object {
  const { name, in: location, style, explode, content, schema } = parameter;
  if (location === 'cookie') throw new Skipped(`it has the cookie ${name}`);
  if (unsupportedStyles.has(style)) throw new Skipped(`${name} has the style ${style}`);
  const [type] = Object.keys(Object(content));
  if (type !== undefined && !isJsonType(type)) throw new Skipped(`${name} has the type ${type}`);
  const used = type === undefined ? schema : own(own(content, type), 'schema');
  return {
    ...{ argument: args.add(String(name), used, parameter), name, in: location },
    ...styleOf({ style: type === undefined ? style : 'json', explode }),
  };
}

const styleOf = ({ style, explode }: SchemaObject): object => ({
  ...(isText(style) && { style }),
  ...(isBoolean(explode) && { explode }),
});

function bodyOf(args: Arguments, body: SchemaObject): object {
  const types = Object.keys(Object(body.content));
  const type = types.find(isJsonType) ?? types.find((each) => each === formType);
  if (type === undefined) throw new Skipped(`its body is ${types.join(' or ')}`);
  const { schema, encoding = {} } = own(body.content, type) as SchemaObject;
  const styles = Object.entries(Object(encoding)).map(([name, style]) => [name, styleOf(Object(style))]);
  return {
    ...{ argument: args.add('body', schema, body), content_type: type },
    ...(type === formType && styles.length > 0 && { encoding: Object.fromEntries(styles) }),
  };
}

/**
 * Returns the tool with its defaults.
 * @throws Skipped if `agents create` would not accept it
 */
function checked(tool: object): HttpTool {
  const { data, error } = httpTool.safeParse(tool, { reportInput: true });
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) throw new Skipped(describeIssue(issue, 'it'));
  const made = data as HttpTool;
  const found = problemOfWords({ ...made, inputSchema: made.input_schema });
  if (found !== undefined) throw new Skipped([...found.field, found.problem].join(' '));
  return made;
}
