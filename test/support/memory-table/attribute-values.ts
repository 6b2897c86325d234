import { isDeepStrictEqual } from 'node:util';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';

export type WireItem = Readonly<Record<string, AttributeValue>>;
export type Path = readonly (string | number)[];

export class InvalidExpression extends Error {
  override readonly name = 'ValidationException';
}

export function valueAt(item: WireItem, path: Path): AttributeValue | undefined {
  let value: AttributeValue | undefined = item[path[0] as string];
  for (let depth = 1; depth < path.length && value !== undefined; depth += 1) {
    const step = path[depth] as string | number;
    value = typeof step === 'number' ? value.L?.[step] : value.M?.[step];
  }
  return value;
}

export function required(value: AttributeValue | undefined): AttributeValue {
  if (value === undefined)
    throw new InvalidExpression('An operand in the update expression refers to an attribute that is missing');
  return value;
}

export function isEqual(one: AttributeValue, other: AttributeValue): boolean {
  if (one.S !== undefined || other.S !== undefined) return one.S === other.S;
  if (one.N !== undefined || other.N !== undefined)
    return one.N !== undefined && other.N !== undefined && Number(one.N) === Number(other.N);
  if (one.SS !== undefined && other.SS !== undefined)
    return JSON.stringify(one.SS.toSorted()) === JSON.stringify(other.SS.toSorted());
  return isDeepStrictEqual(one, other);
}

/** Values of different types have no order: every comparison of them fails. */
export function order(one: AttributeValue, other: AttributeValue): number {
  if (one.N !== undefined && other.N !== undefined) return Number(one.N) - Number(other.N);
  if (one.S !== undefined && other.S !== undefined) return compareTexts(one.S, other.S);
  return Number.NaN;
}

/** Characters whose order as UTF-16 differs from that of their code points. */
const unordered = /[\ud800-\uffff]/;

/** In the order of their UTF-8 bytes, which is that of their code points. */
export function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  if (unordered.test(one) || unordered.test(other))
    return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one < other ? -1 : 1;
}

export function startsWith(whole: AttributeValue | undefined, part: AttributeValue): boolean {
  return whole?.S !== undefined && part.S !== undefined && whole.S.startsWith(part.S);
}

export function added(before: AttributeValue | undefined, value: AttributeValue): AttributeValue {
  if (value.N !== undefined) return { N: String(Number(before?.N ?? 0) + Number(value.N)) };
  return { SS: [...new Set([...(before?.SS ?? []), ...(value.SS ?? [])])] };
}
