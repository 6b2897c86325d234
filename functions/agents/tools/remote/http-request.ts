import { formType, type HttpApiConfig, type HttpParameter, type HttpTool } from '#contract/http-api.ts';
import { isList, isObject, listOf, own } from '#contract/json-schema-rules.ts';
import { ToolFailure } from '../agent-tool.ts';

type Serialization = Pick<HttpParameter, 'style' | 'explode'>;
type Encode = (text: string) => string;

interface HttpRequest {
  url: URL;
  method: HttpTool['method'];
  headers: Record<string, string>;
  body?: Uint8Array;
}

/**
 * Makes the request of an operation. Arguments are only values, of its parameters and its body. In the path, a value
 * replaces its placeholder and stays within it: one segment, or several with `allow_slash`. No argument can change the
 * scheme, host or port, or add a parameter that is not declared.
 * @param fillIn fills in the placeholders of an operator's text; `encode` encodes each value
 * @throws ToolFailure for an argument that is unknown, must not be sent, or is missing in the path: then nothing is
 *   sent
 */
export function requestOf(
  { base_url, headers }: Pick<HttpApiConfig, 'base_url' | 'headers'>,
  { method, path: template, parameters, body, input_schema: { properties } }: HttpTool,
  args: Readonly<Record<string, unknown>>,
  fillIn: (text: string, encode: Encode) => string,
): HttpRequest {
  rejectUnknown(args, [...parameters, ...listOf(body)]);
  const base = new URL(base_url);
  let path = base.pathname.replace(/\/$/, '') + template;
  const query: string[] = [];
  const ofArguments: Record<string, string> = {};
  for (const parameter of parameters) {
    const { name, in: location, argument = '', fixed } = parameter;
    const encode = location === 'header' ? encodeURIComponent : String;
    const value = fixed === undefined ? own(args, argument) : fillIn(fixed, encode);
    if (isEmpty(value)) continue;
    if (location === 'path') path = path.replaceAll(`{${name}}`, () => pathText(parameter, value));
    else if (location === 'query') query.push(...queryPairs(parameter, value, own(properties, argument)));
    else ofArguments[name] = simpleText(parameter, value, (text) => headerText(text, name));
  }
  const url = new URL(base.origin + path);
  // The parser of URLs encodes braces that had no value. Nothing else is left that it would change.
  if (url.pathname !== path) throw new ToolFailure('The path needs further arguments');
  url.search = query.join('&');
  const content = contentOf(body, args);
  const configured = Object.entries(headers).map(([name, text]) => [name, fillIn(text, encodeURIComponent)]);
  return {
    ...{ url, method },
    headers: {
      Accept: 'application/json, */*;q=0.5',
      ...ofArguments,
      ...Object.fromEntries(configured),
      ...(content && { 'Content-Type': body?.content_type }),
    },
    ...(content && { body: content }),
  };
}

function rejectUnknown(args: object, parts: readonly unknown[]): void {
  const given = parts.map((part) => own(part, 'argument'));
  const unknown = Object.keys(args).find((name) => !given.includes(name));
  if (unknown !== undefined) throw new ToolFailure(`The tool has no argument ${unknown}`);
}

/**
 * Whether a parameter has no value and is not sent. As in RFC 6570, an empty list has none, and an empty text is one.
 */
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** Also encodes the characters that `encodeURIComponent` leaves and RFC 3986 reserves. */
const encodeReserved: Encode = (text) =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A value in OpenAPI's style `simple`, or as JSON, for the path or a header. */
function simpleText({ style, explode }: Serialization, value: unknown, encode: Encode): string {
  if (style === 'json') return encode(JSON.stringify(value));
  if (isList(value)) return value.map((item) => encode(textOf(item))).join(',');
  if (!isObject(value)) return encode(textOf(value));
  return Object.entries(value)
    .map(([name, field]) => `${encode(name)}${explode ? '=' : ','}${encode(textOf(field))}`)
    .join(',');
}

function headerText(text: string, name: string): string {
  if (/[^\x20-\x7e]/.test(text)) throw new ToolFailure(`The header ${name} must be printable ASCII`);
  return text;
}

/**
 * What the bytes of a segment must not have: a control character, a backslash, or an overlong form of an ASCII
 * character. Nor may the segment be empty, one dot or two dots, also before a semicolon: some servers ignore what
 * follows it.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finds these characters
const unsafeSegment = /[\x00-\x1f\x7f\\\xc0\xc1]|\xe0[\x80-\x9f]|^\.{0,2}(?:;|$)/;

/** Decodes what is percent-encoded, once. Some servers decode twice, and some repair what is not well encoded. */
const decoded: Encode = (text) =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

function pathText(parameter: HttpParameter, value: unknown): string {
  const segmentsOf = (text: string) => (parameter.allow_slash ? text.split('/') : [text]);
  const encode: Encode = (text) => {
    const bytes = Buffer.from(text).toString('latin1');
    const forms = [bytes, decoded(bytes), decoded(decoded(bytes))].flatMap(segmentsOf);
    if (forms.some((form) => unsafeSegment.test(form) || form.includes('/')))
      throw new ToolFailure(
        `The argument ${parameter.argument ?? parameter.name} must be a part of a path, without slashes and dots alone`,
      );
    return segmentsOf(text).map(encodeReserved).join('/');
  };
  return simpleText(parameter, value, encode);
}

/**
 * The parameters that one argument becomes. Each property of an object may be a parameter of its own, so the model may
 * name none that the operation does not declare.
 * @throws ToolFailure if it does
 */
function queryPairs(parameter: HttpParameter, value: unknown, schema: unknown): string[] {
  const { style, explode = true, argument } = parameter;
  if (isObject(value) && style !== 'json' && (explode || style === 'deepObject')) {
    const declared = declaredNames(schema);
    const other = Object.keys(value).find((name) => !declared.includes(name));
    if (other !== undefined) throw new ToolFailure(`The argument ${argument} has no property ${other}`);
  }
  return pairsOf(parameter, value);
}

const declaredNames = (schema: unknown): string[] =>
  isObject(schema)
    ? [
        ...Object.keys(Object(schema.properties)),
        ...[schema.allOf, schema.anyOf, schema.oneOf].flatMap(listOf).flatMap(declaredNames),
      ]
    : [];

/** Parameters of a query or fields of a form, as `name=value`, encoded. */
function pairsOf(
  { name, style = 'form', explode = style === 'form' }: Serialization & Pick<HttpParameter, 'name'>,
  value: unknown,
): string[] {
  const pair = (key: string, text: string) => `${encodeReserved(key)}=${text}`;
  if (style === 'json' || !(isList(value) || isObject(value)))
    return [pair(name, encodeReserved(style === 'json' ? JSON.stringify(value) : textOf(value)))];
  const fields = Object.entries(value).map(([key, each]) => [key, encodeReserved(textOf(each))] as const);
  if (style === 'deepObject') return fields.map(([key, text]) => pair(`${name}[${key}]`, text));
  if (explode) return fields.map(([key, text]) => pair(isList(value) ? name : key, text));
  const texts = fields.flatMap(([key, text]) => (isList(value) ? [text] : [encodeReserved(key), text]));
  return [pair(name, texts.join(','))];
}

function contentOf(body: HttpTool['body'], args: object): Uint8Array | undefined {
  const value = body && own(args, body.argument);
  if (body === null || value === undefined) return undefined;
  if (body.content_type !== formType) return Buffer.from(JSON.stringify(value));
  const pairs = Object.entries(Object(value) as object).flatMap(([name, field]) =>
    pairsOf({ name, ...(own(body.encoding, name) ?? (isObject(field) && { style: 'json' })) }, field),
  );
  return Buffer.from(pairs.join('&'));
}
