import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Role } from './access-control.ts';
import type { PermissionUse } from './access-rules.ts';

export type PermissionNote =
  | {
      readonly kind: 'grant';
      readonly stack: string;
      readonly role: string;
      readonly statement: string;
      readonly actions: readonly string[];
      readonly resources: readonly string[];
    }
  | ({ readonly kind: 'use'; readonly stack: string } & PermissionUse);

/** The environment variable with the path of a folder. Each run writes its notes to a new file in it. */
export const PERMISSION_NOTES = 'PERMISSION_NOTES';

/** Each note is written immediately, so that it outlives a killed run. */
export function openPermissionNotes(stack: string) {
  const folder = process.env[PERMISSION_NOTES];
  if (!folder) return { grant: () => {}, use: () => {} };
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${randomUUID()}.jsonl`);
  const write = (note: PermissionNote) => appendFileSync(file, `${JSON.stringify(note)}\n`);
  return {
    grant({ logicalId: role, statements }: Role): void {
      for (const { source: statement, effect, actions = ['*'], resources = ['*'] } of statements)
        if (effect === 'Allow') write({ kind: 'grant', stack, role, statement, actions, resources });
    },
    // Without a role, the permission is of a resource-based policy, whose grants are not noted.
    use(use: PermissionUse): void {
      if (use.role !== '') write({ kind: 'use', stack, ...use });
    },
  };
}
