/** What the frozen value has and `value` lacks: fields, and types of values. Additional fields are allowed. */
export function missingFields(value: unknown, frozen: unknown, path = 'it'): string[] {
  if (typeOf(value) !== typeOf(frozen)) return [`${path} is ${typeOf(value)} instead of ${typeOf(frozen)}`];
  if (Array.isArray(frozen))
    return frozen.slice(0, 1).flatMap((inner) => missingFields((value as unknown[])[0], inner, `${path}[0]`));
  if (typeof frozen !== 'object' || frozen === null) return [];
  return Object.entries(frozen).flatMap(([name, inner]) =>
    missingFields((value as Record<string, unknown>)[name], inner, `${path}.${name}`),
  );
}

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
