/** A message that the table will never take, however often it is written. */
export class NotStorable extends Error {
  override readonly name = 'NotStorable';
}

/** What clients read of it. */
export const notStored = 'The reply could not be stored';
