import { statfs } from 'node:fs/promises';

const checkMilliseconds = 2000;

// The largest uploaded file (50 MiB), and space for the log of the table's database.
const minFreeMegabytes = 64;

export function watchDisk(folder: string, log: (line: string) => void): void {
  let notified = false;
  const check = async () => {
    const { bavail, bsize } = await statfs(folder);
    const megabytes = (bavail * bsize) / 1_000_000;
    if (megabytes < minFreeMegabytes && !notified)
      log(
        `The disk is almost full: ${megabytes.toFixed(1)} MB are free for ${folder}. Larger writes fail until there is more space.`,
      );
    // The second threshold is higher, so that free space around the first one causes no repeated lines.
    if (megabytes < minFreeMegabytes) notified = true;
    else if (megabytes > 2 * minFreeMegabytes) notified = false;
  };
  // Other parts of the run report errors, such as a missing folder, better.
  setInterval(() => check().catch(() => {}), checkMilliseconds).unref();
}
