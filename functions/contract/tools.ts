import * as z from 'zod';
import { optionalText, text } from './fields.ts';
import { isHttpUrl } from './urls.ts';

export const toolLimits = {
  /** Tools of an agent as models get them: an entry may offer several. */
  offers: 128,
  /** Of one tool as models get it: its name, its description and its schema. */
  offerBytes: 16 * 1024,
  /** Of all tools of an agent: about 32,000 tokens of each prompt. */
  definitionBytes: 128 * 1024,
  schemaLevels: 16,
  argumentBytes: 256 * 1024,
} as const;

export const secretName = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, {
  error: 'must be a lower-case letter, then letters, digits, hyphens and underscores, at most 64 in all',
});

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const reservedHeader =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-.*|accept.*|mcp-.*|proxy-.*|x-agent-depth)$/i;

export function problemOfHeader(name: string, isSecret = false): string | undefined {
  if (!isSecret && /auth|key|token|secret|cookie/i.test(name))
    return 'may be secret: put its value into a secret';
  if (!headerName.test(name)) return 'must be the name of a header';
  return reservedHeader.test(name) ? 'is a header of the protocol' : undefined;
}

export function report(context: z.RefinementCtx, path: PropertyKey[], problem: string | undefined): void {
  if (problem !== undefined) context.addIssue({ code: 'custom', path, message: problem });
}

/** Without user and password: secrets have their own place. */
export const toolUrl = text(2048).refine((address) => isHttpUrl(address) && !/[@#{}]/.test(address), {
  error: 'must be an http or https URL without a user, a fragment and placeholders',
});

const printableAscii = [/^[\x20-\x7e]*$/, { error: 'must be printable ASCII' }] as const;
const scopes = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/;

export const callFields = {
  /** Below the 80 s that a whole use of a tool may take by default. */
  timeout_seconds: z.int().min(1).max(75).default(30),
  /** In UTF-16 code units. */
  max_result_characters: z.int().min(1).max(100_000).default(20_000),
};

export const toolAuth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bearer'), secret: secretName }),
  z.strictObject({
    type: z.literal('header'),
    name: z.string().superRefine((name, context) => report(context, [], problemOfHeader(name, true))),
    prefix: optionalText(64)
      .regex(...printableAscii)
      .default(''),
    secret: secretName,
  }),
  z.strictObject({
    type: z.literal('basic'),
    username: text(256).regex(/^[^:\p{Cc}]*$/u, { error: 'must have no colon' }),
    secret: secretName,
  }),
  z.strictObject({ type: z.literal('query'), name: text(64), secret: secretName }),
  /** The addresses are pinned: no server can later name another address to which the credentials are sent. */
  z.strictObject({
    type: z.literal('oauth_client_credentials'),
    client_id: text(256).regex(...printableAscii),
    secret: secretName,
    token_url: toolUrl,
    issuer: toolUrl,
    resource: toolUrl,
    scope: z.string().max(1024).regex(scopes, 'must be scopes with one space between them').optional(),
    method: z.enum(['basic', 'post', 'private_key_jwt']).default('basic'),
  }),
]);

export type ToolAuth = z.output<typeof toolAuth>;

export const remoteFields = {
  auth: toolAuth.optional(),
  /** The values may have placeholders. */
  headers: z
    .record(z.string(), text(1024).regex(...printableAscii))
    .superRefine((headers, context) => {
      for (const name of Object.keys(headers)) report(context, [name], problemOfHeader(name));
    })
    .refine((headers) => Object.keys(headers).length <= 20, { error: 'must be at most 20 headers' })
    .default({}),
  ...callFields,
};

export const functionArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[A-Za-z0-9_-]{1,64}:[A-Za-z0-9_-]{1,128}$/, {
    error: 'must be the ARN of a Lambda function with an alias, without wildcards',
  });

export const pinnedTool = z.strictObject({
  name: text(64),
  description: optionalText(8192).default(''),
  approval: z.enum(['never', 'always', 'caller']),
  input_schema: z.record(z.string(), z.unknown()),
});

export type PinnedTool = z.output<typeof pinnedTool>;

const mcpTool = pinnedTool.extend({
  tool: text(256),
  parameter_headers: z.record(z.string(), z.array(z.string()).min(1)).optional(),
});

export const mcpConfig = z.strictObject({
  ...remoteFields,
  url: toolUrl,
  /** A connection is first tried without a handshake for the newest version, and with one for the others. */
  protocol: z.enum(['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26']).default('2026-07-28'),
  auth: toolAuth.optional().refine((auth) => auth?.type !== 'query', { error: 'must not be query for MCP' }),
  tools: z.array(mcpTool).min(1),
});

export type McpConfig = z.output<typeof mcpConfig>;

/** A character that people may not see and models read. Tabs, `\n`, `\r` and the selector of emojis are allowed. */
const hiddenCharacter = /(?!\ufe0f|[\t\n\r])[\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u;

export function problemOfText(value: string): string | undefined {
  const point = hiddenCharacter.exec(value)?.[0].codePointAt(0);
  return point === undefined
    ? undefined
    : `has the hidden character U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
}

export function problemOfTexts(value: unknown): string | undefined {
  if (typeof value === 'string') return problemOfText(value);
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value)
    .map(([name, each]) => problemOfText(name) ?? problemOfTexts(each))
    .find(Boolean);
}
