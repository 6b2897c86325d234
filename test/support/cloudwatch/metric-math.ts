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

type Value = number | Series;
type Scope = (id: string) => Series;
type Evaluate = (scope: Scope, reading: Reading) => Value;

const operators: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '<': (left, right) => Number(left < right),
  '<=': (left, right) => Number(left <= right),
  '>': (left, right) => Number(left > right),
  '>=': (left, right) => Number(left >= right),
  '==': (left, right) => Number(left === right),
  '!=': (left, right) => Number(left !== right),
  AND: (left, right) => Number(left !== 0 && right !== 0),
  OR: (left, right) => Number(left !== 0 || right !== 0),
};

/** The operators, those that bind least first. */
const levels = [['OR'], ['AND'], ['<', '<=', '>', '>=', '==', '!='], ['+', '-'], ['*', '/']];

/**
 * Reads an expression of metric math.
 * @throws Error for what it does not know: also for what AWS advises against in alarms, and for `FILL`, of which it is
 * not documented whether it fills a metric without any data
 */
export function parseExpression(expression: string): Evaluate {
  const tokens = expression.match(/\d+(?:\.\d+)?|[A-Za-z_]\w*|<=|>=|==|!=|\S/g) ?? [];
  let position = 0;
  const fail = (): never => {
    throw new Error(
      `Unknown metric math at ${tokens.slice(position).join(' ') || 'the end'} in ${expression}`,
    );
  };
  const peek = () => tokens[position];
  const take = () => tokens[position++] ?? fail();
  const expect = (token: string): void => {
    if (peek() !== token) fail();
    position += 1;
  };
  const list = (end: string): Evaluate[] => {
    const items = [binary(0)];
    while (peek() === ',') {
      position += 1;
      items.push(binary(0));
    }
    expect(end);
    return items;
  };

  function binary(level: number): Evaluate {
    const names = levels[level];
    if (names === undefined) return primary();
    let left = binary(level + 1);
    while (names.includes(peek() ?? '')) {
      const operator = operators[take()] ?? fail();
      const [first, second] = [left, binary(level + 1)];
      left = (scope, reading) => combine(operator, first(scope, reading), second(scope, reading), reading);
    }
    return left;
  }

  function primary(): Evaluate {
    const token = take();
    if (token === '(') {
      const inner = binary(0);
      expect(')');
      return inner;
    }
    if (token === '-') {
      const inner = primary();
      return (scope, reading) => combine((zero, value) => zero - value, 0, inner(scope, reading), reading);
    }
    if (/^\d/.test(token)) return () => Number(token);
    if (/^[a-z]/.test(token) && peek() !== '(') return (scope) => scope(token);
    position -= 1;
    return call();
  }

  function call(): Evaluate {
    const name = take();
    expect('(');
    // The SUM of one time series is a number, which depends on how many values CloudWatch retrieves.
    if (name === 'SUM') expect('[');
    const items = list(name === 'SUM' ? ']' : ')');
    if (name === 'SUM') expect(')');
    return functionOf(name, items) ?? fail();
  }

  const result = binary(0);
  if (position < tokens.length) fail();
  return result;
}

function functionOf(name: string, items: readonly Evaluate[]): Evaluate | undefined {
  if (name === 'SUM') return (scope, reading) => sum(items.map((item) => item(scope, reading)));
  const [first, second, third] = items;
  if (name === 'IF' && items.length === 3 && first && second && third)
    return (scope, reading) => {
      const [then, otherwise] = [second(scope, reading), third(scope, reading)];
      return map(first(scope, reading), (value, at) => valueAt(value !== 0 ? then : otherwise, at));
    };
  return undefined;
}

const valueAt = (value: Value, index: number): number | undefined =>
  typeof value === 'number' ? value : value[index];

const seriesOf = (value: Value): Series => {
  if (typeof value === 'number') throw new Error('A number is no time series');
  return value;
};

const map = (value: Value, change: (value: number, index: number) => number | undefined): Series =>
  seriesOf(value).map((each, index) => (each === undefined ? undefined : change(each, index)));

function combine(
  operator: (left: number, right: number) => number,
  left: Value,
  right: Value,
  { missingIsZero }: Reading,
): Value {
  if (typeof left === 'number' && typeof right === 'number') return operator(left, right);
  const { length } = typeof left === 'number' ? seriesOf(right) : left;
  const isOfTwo = typeof left !== 'number' && typeof right !== 'number';
  return Array.from({ length }, (_, index) => {
    const values = [valueAt(left, index), valueAt(right, index)];
    const missing = values.filter((value) => value === undefined).length;
    if (missing === 2 || (missing === 1 && !(missingIsZero && isOfTwo))) return undefined;
    const [first = 0, second = 0] = values;
    const result = operator(first, second);
    // CloudWatch drops a value that would be divided by zero.
    return Number.isFinite(result) ? result : undefined;
  });
}

function sum(values: readonly Value[]): Series {
  const all = values.map(seriesOf);
  return (all[0] ?? []).map((_, index) => {
    const present = all.flatMap((series) => series[index] ?? []);
    return present.length === 0 ? undefined : present.reduce((total, value) => total + value, 0);
  });
}
