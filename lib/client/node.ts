import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';

/** Opens a file on the disk for `client.files.upload`. The bytes are read while they are sent. */
export async function openFile(path: string): Promise<File> {
  return new File([await openAsBlob(path)], basename(path));
}
