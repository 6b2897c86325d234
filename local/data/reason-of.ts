import { constants } from 'node:os';
import { getSystemErrorMessage } from 'node:util';

/**
 * Why a call failed, such as `permission denied`: the text of a system error without the code, the call and the path
 * that Node.js adds.
 */
export function reasonOf(error: unknown): string {
  const { code = '', errno = errnoOf(code), message } = error as NodeJS.ErrnoException;
  // The system says "illegal operation on a directory".
  if (code === 'EISDIR') return 'it is a folder';
  return errno === undefined ? message : getSystemErrorMessage(errno);
}

/** An error of several addresses has a code, but no number. */
function errnoOf(code: string): number | undefined {
  const number = (constants.errno as Readonly<Record<string, number>>)[code];
  return number === undefined ? undefined : -number;
}
