import { isUtf8 } from 'node:buffer';
import { isJsonType } from '#contract/http-api.ts';
import { isList, isObject } from '#contract/json-schema-rules.ts';
import { parseJson } from '#domain/platform/parse-json.ts';
import type { RemoteHead } from '#domain/tools/remote-http.ts';
import { ToolFailure } from '../agent-tool.ts';
import type { RemoteResult } from './pinned-tool.ts';

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

/** A missing field stays missing. */
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
