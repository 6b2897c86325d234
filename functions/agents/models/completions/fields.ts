/** The fields of an object of unknown shape. */
export type Fields = Record<string, unknown>;

export const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null ? (value as Fields) : undefined;

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Undefined if the text is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
