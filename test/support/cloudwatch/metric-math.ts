/** The values of a metric or an expression, one for each period; undefined without data. */
export type Series = readonly (number | undefined)[];

/** How AWS's documents can be read. An alarm must do the same with each reading. */
export interface Reading {
  /** Whether a missing value counts as 0 in `a + b` and `a < b` if the other side has a value. */
  readonly missingIsZero: boolean;
  /**
   * Whether an alarm of metrics of DynamoDB keeps its state without data, whatever it says of missing data: always by the
   * API's reference, by default by the user guide.
   */
  readonly dynamoDbIsIgnored: boolean;
}

export const readings: readonly Reading[] = [
  { missingIsZero: true, dynamoDbIsIgnored: false },
  { missingIsZero: false, dynamoDbIsIgnored: true },
];

/** A value in one period, and whether it is a number of the expression, which never counts as missing. */
interface Value {
  readonly value: number | undefined;
  readonly isNumber?: true;
}

type Evaluate = (find: (id: string) => number | undefined, reading: Reading) => Value;

const operators: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '<': (left, right) => Number(left < right),
  OR: (left, right) => Number(left !== 0 || right !== 0),
};

/** The operators, those that bind least first. */
const levels = [['OR'], ['<'], ['+', '-'], ['*', '/']];

/**
 * Reads an expression of metric math, which then gives the value of one period.
 * @throws Error for what no alarm uses: also for what AWS advises against in alarms, for a SUM of one time series, which
 * is a number, and for `FILL`, of which it is not documented whether it fills a metric without any data
 */
export function parseExpression(expression: string): Evaluate {
  const tokens = expression.match(/\d+|[A-Za-z_]\w*|\S/g) ?? [];
  const fail = (): never => {
    throw new Error(`Unknown metric math at ${tokens.join(' ') || 'the end'} in ${expression}`);
  };
  const take = (expected?: string): string => {
    const token = tokens[0];
    if (token === undefined || (expected !== undefined && token !== expected)) return fail();
    tokens.shift();
    return token;
  };
  const list = (end: string): Evaluate[] => {
    const items = [binary(0)];
    while (tokens[0] === ',') {
      take();
      items.push(binary(0));
    }
    for (const token of end) take(token);
    return items;
  };

  function binary(level: number): Evaluate {
    const names = levels[level];
    if (names === undefined) return primary();
    let left = binary(level + 1);
    while (names.includes(tokens[0] ?? '')) {
      const operator = operators[take()] ?? fail();
      const [first, second] = [left, binary(level + 1)];
      left = (find, reading) => combine(operator, first(find, reading), second(find, reading), reading);
    }
    return left;
  }

  function primary(): Evaluate {
    const token = take();
    if (/^\d/.test(token)) return () => ({ value: Number(token), isNumber: true });
    if (token === '-') {
      const value = -Number(take());
      return () => ({ value, isNumber: true });
    }
    if (/^[a-z]/.test(token) && tokens[0] !== '(') return (find) => ({ value: find(token) });
    if (token !== 'SUM' && token !== 'IF') return fail();
    take('(');
    if (token === 'SUM') {
      take('[');
      return sumOf(list('])'));
    }
    const [condition, then, otherwise, ...more] = list(')');
    if (!condition || !then || !otherwise || more.length > 0) return fail();
    return (find, reading) => {
      const { value } = condition(find, reading);
      if (value === undefined) return { value };
      return { value: (value === 0 ? otherwise : then)(find, reading).value };
    };
  }

  const result = binary(0);
  return tokens.length > 0 ? fail() : result;
}

function combine(
  operator: (left: number, right: number) => number,
  left: Value,
  right: Value,
  { missingIsZero }: Reading,
): Value {
  const missing = [left, right].filter(({ value }) => value === undefined).length;
  const hasNumber = left.isNumber || right.isNumber;
  if (missing === 2 || (missing === 1 && (hasNumber || !missingIsZero))) return { value: undefined };
  const result = operator(left.value ?? 0, right.value ?? 0);
  // CloudWatch drops a value that would be divided by zero.
  return { value: Number.isFinite(result) ? result : undefined };
}

const sumOf =
  (items: readonly Evaluate[]): Evaluate =>
  (find, reading) => {
    const present = items.flatMap((item) => item(find, reading).value ?? []);
    return { value: present.length === 0 ? undefined : present.reduce((sum, value) => sum + value, 0) };
  };
