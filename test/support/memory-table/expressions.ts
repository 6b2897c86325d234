import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import {
  added,
  InvalidExpression,
  isEqual,
  order,
  type Path,
  required,
  startsWith,
  valueAt,
  type WireItem,
} from './attribute-values.ts';

/** What the placeholders of an expression stand for. */
export interface Placeholders {
  names: Readonly<Record<string, string>>;
  values: WireItem;
}

export type Condition = (item: WireItem, given: Placeholders) => boolean;
export type Update = (item: WireItem, given: Placeholders) => WireItem;

/** A part of an update: it reads the item before, and returns the item after. */
type Step = (before: WireItem, given: Placeholders, after: WireItem) => WireItem;
type Operand = (item: WireItem, given: Placeholders) => AttributeValue | undefined;

const tokenPattern = /\s*([#:]?\w+|<>|<=|>=|[=<>()[\],.+])\s*/y;

/** Splits an expression into its words and signs. */
function tokensOf(expression: string): string[] {
  const tokens: string[] = [];
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < expression.length) {
    const start = tokenPattern.lastIndex;
    const token = tokenPattern.exec(expression)?.[1];
    if (token === undefined)
      throw new InvalidExpression(`Syntax error near ${expression.slice(start, start + 20)}`);
    tokens.push(token);
  }
  return tokens;
}

const isWord = (token: string | undefined, ...words: string[]): boolean =>
  words.includes(token?.toUpperCase() ?? '');

const comparisons: Readonly<Record<string, (one: AttributeValue, other: AttributeValue) => boolean>> = {
  '=': (one, other) => isEqual(one, other),
  '<>': (one, other) => !isEqual(one, other),
  '<': (one, other) => order(one, other) < 0,
  '<=': (one, other) => order(one, other) <= 0,
  '>': (one, other) => order(one, other) > 0,
  '>=': (one, other) => order(one, other) >= 0,
};

/** Reads what the stores use of the grammar of DynamoDB's expressions. A call compiles one expression to a function. */
class Parser {
  readonly #expression: string;
  readonly #tokens: string[];
  #at = 0;

  constructor(expression: string) {
    this.#expression = expression;
    this.#tokens = tokensOf(expression);
  }

  condition(): Condition {
    const condition = this.#either();
    this.#end();
    return condition;
  }

  update(): Update {
    const steps: Step[] = [];
    while (this.#at < this.#tokens.length) {
      const clause = this.#next().toUpperCase();
      do steps.push(this.#action(clause));
      while (this.#take(','));
    }
    return (item, given) => steps.reduce((after, step) => step(item, given, after), item);
  }

  paths(): ((given: Placeholders) => Path)[] {
    const paths = [this.#path()];
    while (this.#take(',')) paths.push(this.#path());
    this.#end();
    return paths;
  }

  #action(clause: string): Step {
    const path = this.#path();
    if (clause === 'REMOVE')
      return (_before, given, after) => {
        const at = path(given);
        return valueAt(after, at) === undefined ? after : changed(after, at, undefined);
      };
    if (clause === 'SET') {
      this.#expect('=');
      const value = this.#sum();
      return (before, given, after) => changed(after, path(given), required(value(before, given)));
    }
    if (clause !== 'ADD') throw this.#error();
    const operand = this.#operand();
    return (before, given, after) => {
      const at = path(given);
      return changed(after, at, added(valueAt(before, at), required(operand(before, given))));
    };
  }

  #sum(): Operand {
    const first = this.#operand();
    if (!this.#take('+')) return first;
    const second = this.#operand();
    return (item, given) => {
      const [one, other] = [required(first(item, given)), required(second(item, given))];
      if (one.N === undefined || other.N === undefined) throw new InvalidExpression('Not a number');
      return { N: String(Number(one.N) + Number(other.N)) };
    };
  }

  #either(): Condition {
    const first = this.#both();
    if (!this.#takeWord('OR')) return first;
    const second = this.#either();
    return (item, given) => first(item, given) || second(item, given);
  }

  #both(): Condition {
    const first = this.#single();
    if (!this.#takeWord('AND')) return first;
    const second = this.#both();
    return (item, given) => first(item, given) && second(item, given);
  }

  #single(): Condition {
    if (this.#take('(')) {
      const condition = this.#either();
      this.#expect(')');
      return condition;
    }
    return this.#test() ?? this.#comparison();
  }

  /** A condition that is a function; undefined if the next word is none. */
  #test(): Condition | undefined {
    const name = this.#tokens[this.#at]?.toLowerCase();
    if (this.#tokens[this.#at + 1] !== '(') return undefined;
    if (name === 'attribute_exists' || name === 'attribute_not_exists') {
      this.#at += 2;
      const path = this.#path();
      this.#expect(')');
      return (item, given) => (valueAt(item, path(given)) !== undefined) === (name === 'attribute_exists');
    }
    if (name !== 'begins_with') return undefined;
    this.#at += 2;
    const whole = this.#operand();
    this.#expect(',');
    const part = this.#operand();
    this.#expect(')');
    return (item, given) => startsWith(whole(item, given), required(part(item, given)));
  }

  #comparison(): Condition {
    const first = this.#operand();
    const operator = this.#next();
    if (isWord(operator, 'BETWEEN')) {
      const low = this.#operand();
      if (!this.#takeWord('AND')) throw this.#error();
      const high = this.#operand();
      return (item, given) => {
        const value = first(item, given);
        return (
          value !== undefined &&
          order(value, required(low(item, given))) >= 0 &&
          order(value, required(high(item, given))) <= 0
        );
      };
    }
    const compare = comparisons[operator];
    if (compare === undefined) throw this.#error();
    const second = this.#operand();
    return (item, given) => {
      const [one, other] = [first(item, given), second(item, given)];
      // An attribute that is missing differs from every value.
      return one === undefined || other === undefined ? operator === '<>' : compare(one, other);
    };
  }

  #operand(): Operand {
    const token = this.#tokens[this.#at];
    if (token?.toLowerCase() === 'if_not_exists') return this.#default();
    if (token?.startsWith(':')) {
      this.#at += 1;
      return (_item, { values }) => {
        const value = values[token];
        if (value === undefined) throw new InvalidExpression(`The value ${token} is not defined`);
        return value;
      };
    }
    const path = this.#path();
    return (item, given) => valueAt(item, path(given));
  }

  #default(): Operand {
    this.#at += 1;
    this.#expect('(');
    const path = this.#path();
    this.#expect(',');
    const otherwise = this.#operand();
    this.#expect(')');
    return (item, given) => valueAt(item, path(given)) ?? otherwise(item, given);
  }

  #path(): (given: Placeholders) => Path {
    const steps: (string | number)[] = [this.#name()];
    for (;;)
      if (this.#take('.')) steps.push(this.#name());
      else if (this.#take('[')) {
        steps.push(Number(this.#next()));
        this.#expect(']');
      } else break;
    return ({ names }) =>
      steps.map((step) => {
        if (typeof step === 'number' || !step.startsWith('#')) return step;
        const name = names[step];
        if (name === undefined) throw new InvalidExpression(`The name ${step} is not defined`);
        return name;
      });
  }

  #name(): string {
    const name = this.#next();
    if (!/^#?\w+$/.test(name)) throw this.#error();
    return name;
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw this.#error();
    this.#at += 1;
    return token;
  }

  #take(sign: string): boolean {
    const isNext = this.#tokens[this.#at] === sign;
    if (isNext) this.#at += 1;
    return isNext;
  }

  #takeWord(word: string): boolean {
    const isNext = isWord(this.#tokens[this.#at], word);
    if (isNext) this.#at += 1;
    return isNext;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw this.#error();
  }

  #end(): void {
    if (this.#at < this.#tokens.length) throw this.#error();
  }

  #error(): Error {
    return new InvalidExpression(`Syntax error at ${this.#tokens[this.#at]} in ${this.#expression}`);
  }
}

/** The item with another value at the path; undefined removes it. The item before stays as it is: readers may have it. */
const changed = (item: WireItem, path: Path, value: AttributeValue | undefined): WireItem =>
  withValue({ M: item as Record<string, AttributeValue> }, path, value).M as WireItem;

function withValue(
  container: AttributeValue | undefined,
  [step, ...rest]: Path,
  value: AttributeValue | undefined,
): AttributeValue {
  if (step === undefined) return value as AttributeValue;
  if (typeof step === 'number') {
    if (container?.L === undefined) throw new InvalidExpression('The path is not a list');
    const list = [...container.L];
    if (value === undefined && rest.length === 0) list.splice(step, 1);
    else list[Math.min(step, list.length)] = withValue(list[step], rest, value);
    return { L: list };
  }
  if (container?.M === undefined)
    throw new InvalidExpression('The document path provided in the update expression is invalid for update');
  const map = { ...container.M };
  if (value === undefined && rest.length === 0) delete map[step];
  else map[step] = withValue(map[step], rest, value);
  return { M: map };
}

/** The stores use a few hundred expressions again and again. */
const cached = <Compiled>(compile: (expression: string) => Compiled) => {
  const known = new Map<string, Compiled>();
  return (expression: string): Compiled => {
    const compiled = known.get(expression) ?? compile(expression);
    known.set(expression, compiled);
    return compiled;
  };
};

export const conditionOf = cached((expression): Condition => new Parser(expression).condition());
export const updateOf = cached((expression): Update => new Parser(expression).update());
const pathsOf = cached((expression) => new Parser(expression).paths());

/** The attributes of an item that a projection names, with all of their nested values. */
export function project(item: WireItem, expression: string | undefined, given: Placeholders): WireItem {
  if (expression === undefined) return item;
  const names = new Set(pathsOf(expression).map((path) => path(given)[0] as string));
  return Object.fromEntries(Object.entries(item).filter(([name]) => names.has(name)));
}

/** The placeholders that expressions use. */
export const placeholdersIn = cached(
  (expressions): ReadonlySet<string> => new Set(expressions.match(/[#:]\w+/g) ?? []),
);
