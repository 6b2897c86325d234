import type { AgentDefinition } from '#contract/agent.ts';
import {
  isStrict,
  type JsonSchema,
  problemOfData,
  problemOfSchema,
  smallestInstance,
} from '#contract/json-schema.ts';
import { isObject } from '#contract/json-schema-rules.ts';
import type { ResponseFormat } from '#contract/response-format.ts';
import { jsonIn } from '#domain/platform/parse-json.ts';

/** Without a schema, any JSON object. */
export interface ReplyForm {
  name: string;
  description?: string | undefined;
  schema?: JsonSchema;
}

export const isStrictForm = ({ schema }: ReplyForm): boolean => schema !== undefined && isStrict(schema);

/**
 * Undefined for plain text.
 * @throws the error of `reject` if the schema is not accepted, or if the agent has one too
 */
export function formOfRequest(
  { type, json_schema: given }: ResponseFormat,
  { output_schema: own }: AgentDefinition,
  reject: (param: string, problem: string) => Error,
): ReplyForm | undefined {
  if (type === 'text') return undefined;
  if (given === undefined || type === 'json_object') return { name: 'reply' };
  if (own !== undefined)
    throw reject('response_format', 'must not be a json_schema: the agent has a schema of its own');
  const { name, description, schema } = given;
  const problem = problemOfSchema(schema);
  if (problem !== undefined) throw reject('response_format.json_schema.schema', `at ${problem}`);
  return { name, description, schema };
}

/** JSON that fits a schema, for the demo model; `{}`, which may not fit, if none was found. */
export const smallestReply = (schema: JsonSchema): string => JSON.stringify(smallestInstance(schema)) ?? '{}';

/** Why the text is rejected, such as `/age must be integer`; undefined if it is accepted. */
export function problemOfReply({ schema }: ReplyForm, text: string): string | undefined {
  const data = jsonIn(text);
  if (data === undefined) return 'must be JSON without any other text';
  if (schema !== undefined) return problemOfData(schema, data);
  return isObject(data) ? undefined : 'must be a JSON object';
}

export const deltasOf = (text: string): string[] => text.match(/.{1,4000}/gsu) ?? [];

export const repairRequest = (problem: string): string =>
  `Your answer was rejected: ${problem}. Answer again, with nothing but JSON that fits the schema.`;
