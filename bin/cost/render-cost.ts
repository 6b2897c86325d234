import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assumptions, secondsOf } from './assumptions.ts';
import { dollarsOfMessages } from './dollars-of.ts';
import { daysPerMonth, firewallRules } from './fixed-costs.ts';
import { money, whole } from './format-number.ts';
import { breakEvenConcurrency, environmentMonthDollars, messagesAt } from './functions.ts';
import { retention } from './operations.ts';
import { priceOf } from './prices.ts';
import { tables } from './tables.ts';

const million = 1e6;
const { maximumFailedWrites, memoryGigabytes, minimumFailedWrites, modelSeconds } = assumptions;
const { responseBytes, storedBytesPerTurn, usualConcurrency } = assumptions;

const { idlePass, deletedChat, usedChatReadUnits } = retention;
const unitDollars = ({ readUnits, writeUnits }: typeof idlePass | typeof deletedChat): number =>
  readUnits * priceOf('readUnit') + writeUnits * priceOf('writeUnit');

const firewallMonth = (rules: number): number => priceOf('firewall') + rules * priceOf('firewallRule');

const storedGigabytes = (million * storedBytesPerTurn) / 1e9;

const roughly = (value: number): string => whole(Number(value.toPrecision(2)));

/** By their names in cost.md.template. */
const figures: Readonly<Record<string, string | number>> = {
  ...assumptions,
  ...tables,
  modelWait: money(million * modelSeconds * memoryGigabytes * priceOf('gigabyteSecond')),
  storage: money(storedGigabytes * (priceOf('tableGigabyte') + priceOf('recoveryGigabyte'))),
  breakEven: money(breakEvenConcurrency()),
  // Seconds after its only reply until a web function's environment has cost as much as that reply does with a Lambda
  // function.
  idleSeconds: (secondsOf('SendMessage') * (1 / breakEvenConcurrency() - 1)).toFixed(1),
  messagesAtBreakEven: roughly(messagesAt(breakEvenConcurrency())),
  environmentMonth: money(environmentMonthDollars()),
  messagesAtUsual: roughly(messagesAt(usualConcurrency)),
  messagesWithAll: money(dollarsOfMessages(usualConcurrency)),
  messagesWithUploads: money(dollarsOfMessages()),
  tenMilliseconds: money(million * 0.01 * priceOf('processorSecond')),
  minimumFailedDollars: money(minimumFailedWrites * million * priceOf('writeUnit')),
  maximumFailedDollars: money(maximumFailedWrites * million * priceOf('writeUnit')),
  transfer: money(((million * responseBytes) / 1e9) * priceOf('internetGigabyte')),
  metric: money(priceOf('metric')),
  ...firewallRules,
  firewallMonth: money(firewallMonth(firewallRules.firewall)),
  originFirewallMonth: money(firewallMonth(firewallRules.originFirewall)),
  firewallsMonth: money(firewallMonth(firewallRules.firewall) + firewallMonth(firewallRules.originFirewall)),
  firewallRequests: money(million * priceOf('firewallRequest')),
  firewallsRequests: money(2 * million * priceOf('firewallRequest')),
  retentionReads: idlePass.readUnits,
  retentionDollars: money(1000 * daysPerMonth * unitDollars(idlePass)),
  usedChatReads: usedChatReadUnits,
  usedChatsDollars: money(million * daysPerMonth * usedChatReadUnits * priceOf('readUnit')),
  deletedChatReads: deletedChat.readUnits,
  deletedChatWrites: deletedChat.writeUnits,
  deletedChatsDollars: money(million * unitDollars(deletedChat)),
};

export function renderCost(): string {
  const template = readFileSync(join(import.meta.dirname, 'cost.md.template'), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const figure = figures[name];
    if (figure === undefined) throw new Error(`cost.md.template names an unknown figure: ${name}`);
    return typeof figure === 'number' ? figure.toLocaleString('en-US') : figure;
  });
}
