/** The table rejects this item; a retry would not help. */
export class NotStorable extends Error {
  override readonly name = 'NotStorable';
}

/** The error message that clients see. */
export const notStored = 'The reply could not be stored';
