import { UnusableFolder } from '#local/data/lock.ts';
import { UnreadableState } from '#local/data/state-file.ts';
import { UnusablePort } from '#local/wire/listen-on-loopback.ts';
import { describeFailure } from '../failures.ts';
import { PreviousFormat } from './connection.ts';

const anotherFolder = 'choose another folder with --data FOLDER.';

export function describeStartFailure(error: unknown, dataFolder: string): string {
  if (isDiskFull(error))
    return `The disk of the data folder ${dataFolder} is full. Free some space, or ${anotherFolder}`;
  const failure = describeFailure(error);
  if (error instanceof UnreadableState) return `${failure}. Start with --reset to empty the data folder.`;
  if (error instanceof PreviousFormat) return `${failure}. Start with --reset to empty it.`;
  if (error instanceof UnusableFolder) return `${failure}. ${anotherFolder.replace(/^c/, 'C')}`;
  if (error instanceof UnusablePort)
    return `${failure}. Choose another one with --port NUMBER; --port 0 takes a free one.`;
  const { path } = error as NodeJS.ErrnoException;
  return path?.startsWith(dataFolder) === true
    ? `${failure}. Make it writable, or ${anotherFolder}`
    : failure;
}

/** SQLITE_FULL. */
const sqliteFull = 13;

function isDiskFull(error: unknown): boolean {
  const { code = '', errcode, message } = error as NodeJS.ErrnoException & { errcode?: number };
  return (
    ['ENOSPC', 'EDQUOT'].includes(code) ||
    errcode === sqliteFull ||
    // For the error of a child process.
    /ENOSPC|disk is full/.test(message)
  );
}
