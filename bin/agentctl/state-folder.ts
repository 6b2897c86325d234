import { createHash } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '#local/data/state-file.ts';

function submissionsFolder(): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  const platform = process.platform === 'win32' ? LOCALAPPDATA : undefined;
  const state = XDG_STATE_HOME || platform || join(homedir(), '.local', 'state');
  return join(state, 'agentctl', 'submissions');
}

/**
 * By the file's real path. Creates the folder of the journals.
 * @throws Error if the file does not exist, or if the folder cannot be created
 */
export async function journalPath(file: string): Promise<string> {
  const folder = submissionsFolder();
  const path = await realpath(file);
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new Error(
      `${folder} cannot be created: ${reasonOf(error)}; XDG_STATE_HOME can name another folder for its journals`,
    );
  });
  return join(folder, `${createHash('sha256').update(path).digest('hex').slice(0, 32)}.jsonl`);
}
