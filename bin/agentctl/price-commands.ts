import { Command, InvalidArgumentError } from 'commander';
import { llmModel } from '#contract/agent.ts';
import { dayOf, inDollars, type Price, parsePrice } from '#domain/workspaces/usage.ts';
import { clock, prices } from '#runtime/composition/services.ts';
import { readDay } from './days.ts';
import { operation, type Result } from './report.ts';
import { textTable } from './text-table.ts';

type PriceOptions = Pick<Price, 'input' | 'output'> & Partial<Price> & { from: string };

export function priceCommands(): Command {
  const group = new Command('prices').description('What the tokens of models cost, for agentctl usage.');
  operation(group, 'set', set)
    .description('set the prices of a model, in dollars per million tokens')
    .argument('<model>', modelHelp, readModel)
    .requiredOption('--input <dollars>', 'prompt tokens', readPrice)
    .option('--cached <dollars>', "prompt tokens from the provider's cache; by default as --input", readPrice)
    .option('--written <dollars>', 'prompt tokens that fill that cache; by default as --input', readPrice)
    .requiredOption('--output <dollars>', 'completion tokens', readPrice)
    .option('--from <day>', 'the first day of these prices, in UTC', readDay, dayOf(clock.now()));
  operation(group, 'list', list).description('list the prices, each with its first day');
  return group;
}

const modelHelp = 'as agentctl usage --by model prints it, such as openai:gpt-5-mini#flex';

async function set(model: string, options: PriceOptions): Promise<Result> {
  const { from, input, cached = input, written = input, output } = options;
  const price = { input, cached, written, output };
  await prices().set(model, from, price);
  const stored = { model, from, ...inDollars(price) };
  return { json: stored, lines: tableOf([stored]) };
}

async function list(): Promise<Result> {
  const all = Object.entries(await prices().all())
    .flatMap(([model, days]) =>
      Object.entries(days).map(([from, price]) => ({ model, from, ...inDollars(price) })),
    )
    .toSorted((one, other) => one.model.localeCompare(other.model) || one.from.localeCompare(other.from));
  return { json: { prices: all }, lines: all.length === 0 ? ['No prices'] : tableOf(all) };
}

function readModel(model: string): string {
  if (llmModel.safeParse(model.replace(/#[a-z]+$/, '')).success) return model;
  throw new InvalidArgumentError('It must be a model, such as openai:gpt-5-mini or openai:gpt-5-mini#flex.');
}

function readPrice(dollars: string): number {
  const price = parsePrice(dollars);
  if (price !== undefined) return price;
  throw new InvalidArgumentError(
    'It must be dollars per million tokens, such as 0.3125: below 1000000, with at most six decimals.',
  );
}

const tableOf = (listed: readonly Record<string, string>[]): string[] =>
  textTable(
    Object.keys(listed[0] ?? {}),
    listed.map((each) => Object.values(each)),
  );
