import { type Command, InvalidArgumentError } from 'commander';
import { dayOf } from '#domain/workspaces/usage.ts';
import { clock } from '#runtime/composition/services.ts';
import { UsageError } from '../failures.ts';

/** Days in UTC, such as 2027-01-31. The range includes both. */
export interface Days {
  from: string;
  to: string;
}

const milliseconds30Days = 30 * 86_400_000;

export function withDays(command: Command): Command {
  const now = clock.now();
  const first = dayOf(new Date(now.getTime() - milliseconds30Days));
  return command
    .option('--from <day>', 'the first day, in UTC', readDay, first)
    .option('--to <day>', 'the last day', readDay, dayOf(now));
}

export function checkOrder({ from, to }: Days): void {
  if (from > to) throw new UsageError(`--from ${from} is after --to ${to}`);
}

export function readDay(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text)) || dayOf(new Date(text)) !== text)
    throw new InvalidArgumentError('It must be a day, such as 2027-01-31.');
  return text;
}
