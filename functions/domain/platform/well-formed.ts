/**
 * JSON as UTF-8 can hold it: in each text and each name of a field, a half of a character that stands alone becomes
 * U+FFFD. The table takes no other text, and some providers refuse it.
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
