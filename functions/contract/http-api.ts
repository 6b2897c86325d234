import * as z from 'zod';
import { text } from './fields.ts';
import { pinnedTool, problemOfHeader, remoteFields, report, type ToolAuth, toolUrl } from './tools.ts';

/** Styles of OpenAPI, or JSON. */
const serialization = {
  style: z.enum(['form', 'simple', 'deepObject', 'json']).optional(),
  explode: z.boolean().optional(),
};

/** `fixed` is a text of the operator, which may have placeholders. */
const httpParameter = z
  .strictObject({
    argument: text(64).optional(),
    fixed: text(1024).optional(),
    name: text(256),
    in: z.enum(['path', 'query', 'header']),
    ...serialization,
    allow_slash: z.boolean().optional(),
  })
  .superRefine(({ argument, fixed, in: location, name }, context) => {
    if ((argument === undefined) === (fixed === undefined))
      report(context, [], 'must have either argument or fixed');
    if (location === 'header') report(context, ['name'], problemOfHeader(name));
  });

export type HttpParameter = z.output<typeof httpParameter>;

export const formType = 'application/x-www-form-urlencoded';

export const isJsonType = (type: string): boolean => /^application\/(?:[a-z0-9.-]+\+)?json$/i.test(type);

const httpBody = z.strictObject({
  argument: text(64),
  content_type: z.string().refine((type) => type === formType || isJsonType(type), {
    error: `must be JSON or ${formType}`,
  }),
  encoding: z.record(z.string(), z.strictObject(serialization)).optional(),
});

const pickedField = z
  .string()
  .max(256)
  .regex(/^(?:\[\]|[^.[\]]+)(?:\[\]|\.[^.[\]]+)*$/, 'must be like id, customer.name or lines[].sku');

const pathTemplate = text(1024)
  .regex(/^\/[\w.~!$&'()*+,;=:@/{}-]*$/, { error: 'must begin with / and have no query' })
  .refine((path) => !/(?:^|\/)\.{1,2}(?:\/|$)/.test(path), { error: 'must have no segments . and ..' });

export const httpTool = pinnedTool
  .extend({
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    path: pathTemplate,
    parameters: z.array(httpParameter).max(100).default([]),
    body: httpBody.nullable().default(null),
    pick: z.array(pickedField).min(1).max(100).optional(),
  })
  .superRefine(({ path, parameters, body, input_schema: { properties } }, context) => {
    const inBraces = listed([...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name));
    const ofPath = listed(parameters.filter((each) => each.in === 'path').map(({ name }) => name));
    if (inBraces !== ofPath)
      report(context, ['path'], `must have the parameters of the path in braces: ${ofPath}`);
    const given = listed([...parameters, ...(body ? [body] : [])].flatMap(({ argument }) => argument ?? []));
    if (listed(Object.keys(Object(properties))) !== given)
      report(context, ['input_schema', 'properties'], `must be the arguments of the request: ${given}`);
  });

const listed = (names: readonly string[]): string => [...new Set(names)].toSorted().join(', ') || 'none';

export type HttpTool = z.output<typeof httpTool>;

export const httpApiConfig = z
  .strictObject({
    ...remoteFields,
    base_url: toolUrl.refine((url) => !url.includes('?'), { error: 'must have no query' }),
    /** The address or file of the OpenAPI document, for imports and comparisons. */
    document: text(2048).optional(),
    tools: z.array(httpTool).min(1),
  })
  .superRefine(({ auth, headers, tools }, context) => {
    const taken = configuredNames(auth, headers);
    for (const [index, { parameters }] of tools.entries())
      for (const [at, { in: location, name }] of parameters.entries())
        if (location !== 'path' && taken.includes(name.toLowerCase()))
          report(context, ['tools', index, 'parameters', at, 'name'], 'is in each request of the entry');
  });

export function configuredNames(auth: ToolAuth | undefined, headers: object = {}): string[] {
  const ofAuth = auth !== undefined && 'name' in auth ? [auth.name] : [];
  return [...Object.keys(headers), ...ofAuth].map((name) => name.toLowerCase());
}

export type HttpApiConfig = z.output<typeof httpApiConfig>;
