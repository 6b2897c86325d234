import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PermissionNote } from '#local/iam/permission-uses.ts';

/**
 * A permission that no test can use, or need not use if a test uses `insteadOf` on the same resource; and the reason.
 */
export interface UntestablePermission {
  readonly action: RegExp;
  readonly insteadOf?: string;
  readonly reason: string;
}

type Grant = Extract<PermissionNote, { kind: 'grant' }>;

/**
 * Finds the permissions of a stack that no run has used, by the notes in a folder, as `ROLE: ACTION on RESOURCE`. It
 * also finds exceptions that match no permission.
 */
export function findUnusedPermissions(
  folder: string,
  stack: RegExp,
  untestable: readonly UntestablePermission[],
) {
  const notes = readdirSync(folder).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as PermissionNote),
  );
  const own = notes.filter((note) => stack.test(note.stack));
  const grants = new Map<string, Grant>();
  for (const note of own)
    if (note.kind === 'grant')
      grants.set(JSON.stringify([note.role, note.actions.toSorted(), note.resources.toSorted()]), note);
  // By role, action and resource, because the numbers of statements differ between settings.
  const used = new Set(
    own.flatMap((note) => (note.kind === 'use' ? [`${note.role} ${note.action} ${note.resource}`] : [])),
  );

  const unused = new Set<string>();
  const matched = new Set<UntestablePermission>();
  for (const { role, actions, resources } of grants.values()) {
    const tested = actions.filter((action) => {
      const exception = untestable.find(
        ({ action: pattern, insteadOf }) =>
          pattern.test(action) &&
          (insteadOf === undefined ||
            resources.every((resource) => used.has(`${role} ${insteadOf} ${resource}`))),
      );
      if (exception) matched.add(exception);
      return !exception;
    });
    for (const action of tested)
      if (!resources.some((resource) => used.has(`${role} ${action} ${resource}`)))
        unused.add(`${nameOf(role)}: ${action} on ${resources.map(shortened).join(', ')}`);
    if (tested.length === 0 || resources.length === 1) continue;
    for (const resource of resources)
      if (!tested.some((action) => used.has(`${role} ${action} ${resource}`)))
        unused.add(`${nameOf(role)}: ${tested.join(', ')} on ${shortened(resource)}`);
  }
  return {
    grants: grants.size,
    unused: [...unused].toSorted(),
    needless: untestable.filter((entry) => !matched.has(entry)).map(({ action }) => String(action)),
  };
}

const nameOf = (role: string): string => role.replace(/(Role)?[0-9A-F]{8}$/, '');

/** The part of an ARN that starts with the kind of its resource. */
const shortened = (arn: string): string => arn.split(':').slice(5).join(':') || arn;
