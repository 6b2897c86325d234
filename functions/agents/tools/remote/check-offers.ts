import type * as z from 'zod';
import type { AgentDefinition } from '#contract/agent.ts';
import { toolLimits } from '#contract/tools.ts';
import { problemOfSize, problemOfWords } from '#domain/tools/pin-tools.ts';
import type { OfferedTool } from '../agent-tool.ts';

type Issue = z.core.$ZodIssue;

/** `issuesOfNames` checks the names. */
export function issuesOfOffers(
  offered: readonly OfferedTool[],
  { unified_tools: entries }: Pick<AgentDefinition, 'unified_tools'>,
): Issue[] {
  const { offers: most, definitionBytes } = toolLimits;
  const count = offered.length;
  const tooMany = count > most ? `has ${count} tools, at most ${most} are allowed` : undefined;
  return [
    ...offered.flatMap((offer) => [...issuesOfWords(offer), ...issuesOfEntry(offer, entries[offer.index])]),
    ...issue(['unified_tools'], tooMany),
    ...issue(['unified_tools'], problemOfSize(offered, definitionBytes)),
  ];
}

function issuesOfWords(offer: OfferedTool): Issue[] {
  const found = offer.isRemote
    ? problemOfWords(offer)
    : { field: [], problem: problemOfSize([offer], toolLimits.offerBytes) };
  return issue(['unified_tools', offer.index, ...offer.field, ...(found?.field ?? [])], found?.problem);
}

const issuesOfEntry = ({ isRemote, field, index }: OfferedTool, entry: Entry | undefined): Issue[] =>
  (['name', 'description'] as const)
    .filter((name) => isRemote && field.at(-1) === 0 && entry?.[name] !== undefined)
    .flatMap((name) => issue(['unified_tools', index, name], unused));

const unused = 'is not used: each tool in config.tools has its own';

type Entry = AgentDefinition['unified_tools'][number];

const issue = (path: PropertyKey[], message: string | undefined): Issue[] =>
  message === undefined ? [] : [{ code: 'custom', path, message }];
