import type { PolicyCondition, RequestContext } from './access-rules.ts';
import { matchesPattern } from './matches-pattern.ts';

type Compare = (expected: string, actual: string) => boolean;

const equal: Compare = (expected, actual) => expected === actual;
const equalIgnoringCase: Compare = (expected, actual) => expected.toLowerCase() === actual.toLowerCase();

/** ArnEquals and ArnLike behave the same: both match wildcards in each of the six parts of an ARN. */
const arnLike: Compare = (expected, actual) => {
  const [patterns, parts] = [partsOf(expected), partsOf(actual)];
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

/** If the call has no value for the key, a negated condition without `ForAnyValue` holds. */
const NEGATED: Readonly<Record<string, Compare>> = {
  ArnNotEquals: arnLike,
  ArnNotLike: arnLike,
  StringNotEquals: equal,
  StringNotEqualsIgnoreCase: equalIgnoringCase,
  StringNotLike: matchesPattern,
};

const SUPPORTED_KEYS = [
  'aws:principalaccount',
  'aws:principalarn',
  'aws:principalisawsservice',
  'aws:requestedregion',
  'aws:securetransport',
  'aws:sourceaccount',
  'aws:sourcearn',
  'dynamodb:attributes',
  'dynamodb:leadingkeys',
  'kms:viaservice',
  's3:prefix',
];
const SUPPORTED_PREFIXES = ['kms:encryptioncontext:'];

/** @throws Error if the runner does not support an operator or a key */
export function readConditions(block: unknown): PolicyCondition[] {
  return Object.entries((block ?? {}) as Record<string, Record<string, unknown>>).flatMap(
    ([name, entries]) => {
      const [, set, operator = '', suffix] =
        /^(?:(ForAllValues|ForAnyValue):)?(\w+?)(IfExists)?$/.exec(name) ?? [];
      if (!(operator in OPERATORS) && !(operator in NEGATED) && operator !== 'Null')
        throw new Error(`the condition operator ${name} is not known locally`);
      return Object.entries(entries).map(([key, values]) => {
        const lower = key.toLowerCase();
        if (!SUPPORTED_KEYS.includes(lower) && !SUPPORTED_PREFIXES.some((prefix) => lower.startsWith(prefix)))
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

export function meetsConditions(conditions: readonly PolicyCondition[], context: RequestContext): boolean {
  return conditions.every(({ operator, ifExists, set, key, values }) => {
    const actual = context[key];
    if (operator === 'Null') return values.includes(String(actual === undefined));
    const negated = NEGATED[operator];
    if (actual === undefined)
      return ifExists || set === 'ForAllValues' || (negated !== undefined && set === undefined);
    const compare = negated ?? OPERATORS[operator] ?? equal;
    const matches = (value: string) =>
      values.some((expected) => compare(expected, value)) !== (negated !== undefined);
    const all = [actual].flat();
    return set === 'ForAnyValue' ? all.some(matches) : all.every(matches);
  });
}
