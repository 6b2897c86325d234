/**
 * A copy of a JSON value that can be encoded as UTF-8: in each string and each field name, a lone surrogate becomes
 * U+FFFD. DynamoDB and some model providers reject lone surrogates.
 */
export function wellFormed<Value>(value: Value): Value;
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map((element) => wellFormed(element));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name.toWellFormed(), wellFormed(field)]),
  );
}
