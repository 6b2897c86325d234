import * as z from 'zod';
import { optionalText, text } from './fields.ts';

/** Limits of the tools of an agent, and of the uses of tools that reach other systems. */
export const toolLimits = {
  /** Of all entries. Providers accept 128. */
  offers: 128,
  offerBytes: 16 * 1024,
  /** Of all tools as models get them: about 32,000 tokens of each prompt. */
  definitionBytes: 128 * 1024,
  schemaLevels: 16,
  argumentBytes: 256 * 1024,
} as const;

/** Seconds of one use. A tool may take 80 in all. */
export const toolTimeout = z.int().min(1).max(75).default(30);

/** Exactly one alias or version of a Lambda function: roles are allowed to invoke it, and no other. */
export const functionArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[A-Za-z0-9_-]{1,64}:[A-Za-z0-9_-]{1,128}$/, {
    error: 'must be the ARN of a Lambda function with an alias, without wildcards',
  });

/** What the entries of tools of other systems have in common: `tools` of the config. */
export const pinnedTool = z.strictObject({
  name: text(64),
  description: optionalText(8192).default(''),
  approval: z.enum(['never', 'always', 'caller']),
  input_schema: z.record(z.string(), z.unknown()),
});

export type PinnedTool = z.output<typeof pinnedTool>;

/** How much of a result a model and clients get, in UTF-16 code units. */
export const maxResultCharacters = z.int().min(1).max(100_000).default(20_000);

/**
 * A character that people do not see, and models read: control, bidirectional, zero-width and tag characters, and those that
 * Unicode has not assigned. Tabs, line breaks and the selector of emojis are allowed.
 */
const hiddenCharacter = /(?!\ufe0f|[\t\n\r])[\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u;

/** What is wrong, such as `has the hidden character U+200B`. */
export function problemOfText(value: string): string | undefined {
  const point = hiddenCharacter.exec(value)?.[0].codePointAt(0);
  return point === undefined
    ? undefined
    : `has the hidden character U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
}
