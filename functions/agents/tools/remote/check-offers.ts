import type * as z from 'zod';
import type { AgentDefinition } from '#contract/agent.ts';
import { problemOfSchema } from '#contract/json-schema.ts';
import { bytesInWords } from '#contract/limits.ts';
import { problemOfText, problemOfTexts, toolLimits } from '#contract/tools.ts';
import type { Offer, OfferedTool } from '../agent-tool.ts';

type Issue = z.core.$ZodIssue;
type UnifiedTool = AgentDefinition['unified_tools'][number];

/** What is wrong with the tools of an agent, when it is created, updated or published. */
export function issuesOfOffers(
  offered: readonly OfferedTool[],
  { unified_tools: entries }: Pick<AgentDefinition, 'unified_tools'>,
): Issue[] {
  const tooLong = problemOfSize(offered, toolLimits.definitionBytes);
  const tooMany =
    offered.length > toolLimits.offers &&
    `has ${offered.length} tools, at most ${toolLimits.offers} are allowed`;
  return [
    ...offered.flatMap((offer) => issuesOfOffer(offer, entries[offer.index])),
    ...[tooMany, tooLong].flatMap((problem) => issue(['unified_tools'], problem)),
  ];
}

function issuesOfOffer(offer: OfferedTool, entry: UnifiedTool | undefined): Issue[] {
  const path = ['unified_tools', offer.index];
  const field = [...path, ...offer.field];
  const size = issue(field, problemOfSize([offer], toolLimits.offerBytes));
  if (!offer.isRemote) return size;
  const isFirst = offer.field.at(-1) === 0;
  const unused = (['name', 'description'] as const).filter((name) => isFirst && entry?.[name] !== undefined);
  return [
    ...unused.flatMap((name) => issue([...path, name], 'is not used: each tool in config.tools has its own')),
    ...size,
    ...issue([...field, 'description'], problemOfText(offer.description)),
    ...issue([...field, 'input_schema'], problemOfInput(offer.inputSchema)),
  ];
}

const issue = (path: PropertyKey[], message: string | false | undefined): Issue[] =>
  message ? [{ code: 'custom', path, message }] : [];

function problemOfInput(schema: Offer['inputSchema']): string | undefined {
  if (schema.type !== 'object') return 'must have the type object';
  const found = problemOfSchema(schema, toolLimits.schemaLevels);
  // Texts of deeper schemas are not read: that would need too much of the stack.
  if (found === undefined) return problemOfTexts(schema);
  return `${found.place === '#' ? '' : `at ${found.place} `}${found.problem}`;
}

function problemOfSize(offers: readonly Offer[], most: number): string | false {
  const definitions = offers.map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }));
  const bytes = definitions.reduce((sum, each) => sum + Buffer.byteLength(JSON.stringify(each)), 0);
  return (
    bytes > most &&
    `has ${bytes} bytes of names, descriptions and schemas, at most ${bytesInWords(most)} are allowed`
  );
}
