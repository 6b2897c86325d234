/**
 * `marshall` and `unmarshall` of the SDK for the values that this service stores, at a fraction of their time: a fifth of a
 * world was spent in them.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';

type Wire = Record<string, AttributeValue>;

/** Of the object's own values that are not undefined. */
export function marshall(item: object): Wire {
  const wire: Wire = {};
  for (const [name, value] of Object.entries(item)) if (value !== undefined) wire[name] = toWire(value);
  return wire;
}

function toWire(value: unknown): AttributeValue {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) return { L: value.filter((member) => member !== undefined).map(toWire) };
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype)
    return { M: marshall(value) };
  throw new Error(`A ${typeof value} is not marshalled here`);
}

export function unmarshall(wire: Wire): Record<string, unknown> {
  const item: Record<string, unknown> = {};
  for (const name in wire) item[name] = fromWire(wire[name] as AttributeValue);
  return item;
}

function fromWire(value: AttributeValue): unknown {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return Number(value.N);
  if (value.M !== undefined) return unmarshall(value.M);
  if (value.L !== undefined) return value.L.map(fromWire);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.NULL !== undefined) return null;
  throw new Error(`A ${Object.keys(value)[0]} is not unmarshalled here`);
}
