import { isUtf8 } from 'node:buffer';
import {
  formType,
  type HttpApiConfig,
  type HttpParameter,
  type HttpTool,
  isJsonType,
} from '#contract/http-api.ts';
import { isList, isObject, listOf, own } from '#contract/json-schema-rules.ts';
import { parseJson } from '#domain/platform/parse-json.ts';
import type { RemoteHead } from '#domain/tools/remote-tools.ts';
import { ToolFailure } from '../agent-tool.ts';
import type { RemoteResult } from './pinned-tool.ts';

type Encode = (text: string) => string;

/**
 * In the path, a value stays within its placeholder: one segment, or several with `allow_slash`. No argument can change
 * the scheme, host or port, or add an undeclared parameter to the query.
 * @param fillIn replaces the placeholders of an operator's text; `encode` encodes each value
 * @throws ToolFailure for an argument that is unknown, must not be sent, or is missing in the path; or as `fillIn`
 */
export function requestOf(
  { base_url, headers }: Pick<HttpApiConfig, 'base_url' | 'headers'>,
  { method, path: template, parameters, body, input_schema }: HttpTool,
  args: Readonly<Record<string, unknown>>,
  fillIn: (text: string, encode: Encode) => string,
) {
  const properties = Object(input_schema.properties);
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) throw new ToolFailure(`The tool has no argument ${unknown}`);
  const sentOf = ({ argument = '', fixed, in: location, style }: HttpParameter) => {
    // Values in the path and the query are encoded later.
    const encode = location === 'header' ? encodeURIComponent : String;
    const value = fixed === undefined ? own(args, argument) : fillIn(fixed, encode);
    if (isEmpty(value)) return undefined;
    return style === 'json' ? JSON.stringify(value) : value;
  };
  const base = new URL(base_url);
  let path = base.pathname.replace(/\/$/, '') + template;
  const query: string[] = [];
  const ofArguments: Record<string, string> = {};
  for (const parameter of parameters) {
    const { name, in: location, argument = '', explode } = parameter;
    const value = sentOf(parameter);
    if (value === undefined) continue;
    if (location === 'path') path = path.replaceAll(`{${name}}`, () => pathText(parameter, value));
    else if (location === 'query') query.push(...queryPairs(parameter, value, properties[argument]));
    else ofArguments[name] = simpleText(value, explode, (text) => headerText(text, name));
  }
  const url = new URL(base.origin + path);
  // The parser of URLs has encoded a brace of a placeholder without a value.
  if (url.pathname !== path) throw new ToolFailure('The path needs further arguments');
  url.search = query.join('&');
  const content = contentOf(body, args);
  const configured = Object.entries(headers).map(([name, text]) => [name, fillIn(text, encodeURIComponent)]);
  return {
    ...{ url, method, body: content },
    headers: {
      Accept: 'application/json, */*;q=0.5',
      ...ofArguments,
      ...Object.fromEntries(configured),
      ...(content && { 'Content-Type': body?.content_type }),
    } as Record<string, string>,
  };
}

/** As in RFC 6570, an empty list is no value, and an empty text is one. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function simpleText(value: unknown, explode: boolean | undefined, encode: Encode): string {
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

/** Includes overlong forms of ASCII, and dots before a semicolon: some servers ignore it and what follows it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finds these characters
const unsafeSegment = /[\x00-\x1f\x7f\\\xc0\xc1]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]|[\xf8-\xff]|^\.{0,2}(?:;|$)/;

/** Keeps invalid UTF-8, which some servers repair. Applied twice, because some servers decode more than once. */
const decoded: Encode = (text) =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

function pathText({ name, argument = name, explode, allow_slash }: HttpParameter, value: unknown): string {
  const segmentsOf = (text: string) => (allow_slash ? text.split('/') : [text]);
  return simpleText(value, explode, (text) => {
    const bytes = Buffer.from(text).toString('latin1');
    const forms = [bytes, decoded(bytes), decoded(decoded(bytes))].flatMap(segmentsOf);
    if (forms.some((form) => unsafeSegment.test(form) || form.includes('/')))
      throw new ToolFailure(
        `The argument ${argument} must be a part of a path, without slashes and dots alone`,
      );
    return segmentsOf(text).map(encodeURIComponent).join('/');
  });
}

/**
 * @throws ToolFailure for a property that would be a parameter of its own and is not declared. One that only a `$ref`
 * declares counts as not declared.
 */
function queryPairs(parameter: HttpParameter, value: unknown, schema: unknown): string[] {
  const { style, explode = true, argument } = parameter;
  const declared = isObject(value) && (explode || style === 'deepObject') ? declaredNames(schema) : undefined;
  const other = declared && Object.keys(Object(value)).find((name) => !declared.includes(name));
  if (other !== undefined) throw new ToolFailure(`The argument ${argument} has no property ${other}`);
  return pairsOf(parameter, value);
}

const declaredNames = (schema: unknown): string[] => [
  ...Object.keys(Object(own(schema, 'properties'))),
  ...['allOf', 'anyOf', 'oneOf'].flatMap((name) => listOf(own(schema, name))).flatMap(declaredNames),
];

function pairsOf(
  { name, style = 'form', explode = style === 'form' }: Pick<HttpParameter, 'name' | 'style' | 'explode'>,
  value: unknown,
): string[] {
  const pair = (key: string, text: string) => `${encodeURIComponent(key)}=${text}`;
  const isDeep = style === 'deepObject';
  if (!(isList(value) || isObject(value)) || !(explode || isDeep))
    return [pair(name, simpleText(value, false, encodeURIComponent))];
  return Object.entries(value).map(([key, each]) =>
    pair(isDeep ? `${name}[${key}]` : isList(value) ? name : key, encodeURIComponent(textOf(each))),
  );
}

function contentOf(body: HttpTool['body'], args: object): Uint8Array | undefined {
  const value = body && own(args, body.argument);
  if (body === null || value === undefined) return undefined;
  if (body.content_type !== formType) return Buffer.from(JSON.stringify(value));
  const pairs = Object.entries<unknown>(Object(value)).flatMap(([name, field]) => {
    const encoding = body.encoding?.[name] ?? { style: isObject(field) ? 'json' : 'form' };
    return pairsOf({ name, ...encoding }, encoding.style === 'json' ? JSON.stringify(field) : field);
  });
  return Buffer.from(pairs.join('&'));
}

const failureCharacters = 2000;

/** Fields and elements, as `parseJson` counts them: parsed JSON takes more memory than its text. */
const mostValues = 100_000;

/**
 * The result is JSON if its Content-Type says so and it can be parsed within the limits, or else the text. It is null
 * for an empty body, and for one that is not UTF-8, which is an attachment.
 * @throws ToolFailure for a status other than 2xx, with the start of the response's text; or if fields are to be picked
 * from a text
 */
export function resultOf(
  { status, headers, redact }: RemoteHead,
  body: Buffer,
  pick: readonly string[] | undefined,
): RemoteResult {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const text = isUtf8(body) ? body.toString().replace(/^\ufeff/, '') : undefined;
  if (status < 200 || status > 299) {
    const reason = redact(text ?? '').slice(0, failureCharacters);
    throw new ToolFailure(`The server responded with status ${status}${reason && `: ${reason}`}`);
  }
  if (body.length === 0) return { result: null };
  if (text === undefined)
    return { result: null, attachments: [{ type: 'file', mime_type: redact(type), bytes: body.length }] };
  const json = isJsonType(type.trim()) ? boundedJson(text) : undefined;
  if (pick === undefined) return { result: redact(json === undefined ? text : json) };
  if (json === undefined) throw new ToolFailure('The server did not respond with JSON');
  return { result: redact(picked(json, pick.map(stepsOf))) };
}

function boundedJson(text: string): unknown {
  try {
    return parseJson('The response', text, mostValues);
  } catch {
    return undefined;
  }
}

const stepsOf = (field: string): string[] => field.match(/\[\]|[^.[\]]+/g) ?? [];

/**
 * A field that an object lacks stays missing. Where a path goes on below a value without fields, such as a list without
 * `[]`, null stands in place of the value.
 */
function picked(value: unknown, fields: readonly string[][]): unknown {
  if (fields.some((steps) => steps.length === 0)) return value;
  const under = (step: string) => fields.filter(([first]) => first === step).map(([, ...rest]) => rest);
  if (isList(value)) {
    const ofItems = under('[]');
    return ofItems.length === 0 ? null : value.map((item) => picked(item, ofItems));
  }
  if (!isObject(value)) return null;
  const names = new Set(fields.map(([first]) => first));
  const chosen = Object.entries(value).filter(([name]) => names.has(name));
  return Object.fromEntries(chosen.map(([name, each]) => [name, picked(each, under(name))]));
}
