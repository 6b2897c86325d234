import type { PolicyCondition, RequestContext } from './access-rules.ts';
import { matchesPattern } from './matches-pattern.ts';

type Compare = (wanted: string, given: string) => boolean;

const equal: Compare = (wanted, given) => wanted === given;
const equalIgnoringCase: Compare = (wanted, given) => wanted.toLowerCase() === given.toLowerCase();

/** ArnEquals and ArnLike are the same: both know wildcards, in each of the six parts. */
const arnLike: Compare = (wanted, given) => {
  const [patterns, parts] = [partsOf(wanted), partsOf(given)];
  return (
    patterns.length === parts.length &&
    patterns.every((part, index) => matchesPattern(part, parts[index] ?? ''))
  );
};

const partsOf = (arn: string): string[] => {
  const parts = arn.split(':');
  return [...parts.slice(0, 5), parts.slice(5).join(':')];
};

const OPERATORS: Readonly<Record<string, Compare>> = {
  ArnEquals: arnLike,
  ArnLike: arnLike,
  Bool: equalIgnoringCase,
  StringEquals: equal,
  StringEqualsIgnoreCase: equalIgnoringCase,
  StringLike: matchesPattern,
};

/** True when none of the values is the given one; a missing key is none of them either. */
const NEGATED: Readonly<Record<string, Compare>> = {
  ArnNotEquals: arnLike,
  ArnNotLike: arnLike,
  StringNotEquals: equal,
  StringNotEqualsIgnoreCase: equalIgnoringCase,
  StringNotLike: matchesPattern,
};

/** What the run knows of a call. A statement with any other key stops the start. */
const KEYS = [
  'aws:principalaccount',
  'aws:principalarn',
  'aws:principalisawsservice',
  'aws:requestedregion',
  'aws:securetransport',
  'aws:sourceaccount',
  'aws:sourcearn',
  'dynamodb:leadingkeys',
  'kms:viaservice',
  's3:prefix',
];
const KEY_PREFIXES = ['kms:encryptioncontext:'];

/** @throws Error when an operator or a key is not known here */
export function readConditions(block: unknown): PolicyCondition[] {
  return Object.entries((block ?? {}) as Record<string, Record<string, unknown>>).flatMap(
    ([name, entries]) => {
      const [, set, operator = '', suffix] =
        /^(?:(ForAllValues|ForAnyValue):)?(\w+?)(IfExists)?$/.exec(name) ?? [];
      if (!(operator in OPERATORS) && !(operator in NEGATED) && operator !== 'Null')
        throw new Error(`the condition operator ${name} is not known locally`);
      return Object.entries(entries).map(([key, values]) => {
        const lower = key.toLowerCase();
        if (!KEYS.includes(lower) && !KEY_PREFIXES.some((prefix) => lower.startsWith(prefix)))
          throw new Error(`the condition key ${key} is not known locally`);
        return {
          operator,
          ifExists: suffix !== undefined,
          set: set as PolicyCondition['set'],
          key: lower,
          values: [values].flat().map(String),
        };
      });
    },
  );
}

/** Whether all conditions hold for a call of which this is known. */
export function conditionsHold(conditions: readonly PolicyCondition[], context: RequestContext): boolean {
  return conditions.every(({ operator, ifExists, set, key, values }) => {
    const given = context[key];
    if (operator === 'Null') return values.includes(String(given === undefined));
    const negated = NEGATED[operator];
    if (given === undefined)
      return ifExists || set === 'ForAllValues' || (negated !== undefined && set === undefined);
    const compare = negated ?? OPERATORS[operator] ?? equal;
    const holds = (one: string) => values.some((wanted) => compare(wanted, one)) !== (negated !== undefined);
    const all = [given].flat();
    return set === 'ForAnyValue' ? all.some(holds) : all.every(holds);
  });
}
