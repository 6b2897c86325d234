import { lstatSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const others = 0o077;

/**
 * A folder of this user for compiled code. Node.js runs what it finds there, and its default is a folder with a known
 * name in the temporary folder, where other users may be able to put code.
 * @returns undefined if it cannot be created, is a link, or others may use it (not checked on Windows)
 */
export function ownCacheFolder(): string | undefined {
  const { XDG_CACHE_HOME } = process.env;
  const folder = join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'agentctl');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // `lstat` checks a link itself, and not its target.
    const status = lstatSync(folder);
    const isOwn =
      process.getuid === undefined || (status.uid === process.getuid() && (status.mode & others) === 0);
    return status.isDirectory() && isOwn ? folder : undefined;
  } catch {
    // The home folder may be missing or read-only.
    return undefined;
  }
}
