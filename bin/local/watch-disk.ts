import { statfs } from 'node:fs/promises';

const CHECK_MILLISECONDS = 2000;

// The largest file that a client may upload, and room for the table's log.
const LITTLE_MEGABYTES = 64;

/**
 * Says once that a disk is full, or nearly so, and once more when that happens again. It does not keep a process alive.
 */
export function watchDisk(folder: string, log: (line: string) => void): void {
  let notified = false;
  const check = async () => {
    const { bavail, bsize } = await statfs(folder);
    const megabytes = (bavail * bsize) / 1_000_000;
    if (megabytes < LITTLE_MEGABYTES && !notified)
      log(
        `The disk is full, or nearly so: ${megabytes.toFixed(1)} MB are left for ${folder}. What needs more fails until there is room.`,
      );
    // A disk at the edge is not told of again and again.
    if (megabytes < LITTLE_MEGABYTES) notified = true;
    else if (megabytes > 2 * LITTLE_MEGABYTES) notified = false;
  };
  // Whoever asks too soon, or takes the folder away, gets errors that say more.
  setInterval(() => check().catch(() => {}), CHECK_MILLISECONDS).unref();
}
