import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PermissionNote } from '#local/iam/permission-uses.ts';

/** What no test can use, or need not as long as one uses the other action on the same resource; and why. */
export interface UntestablePermission {
  readonly action: RegExp;
  readonly insteadOf?: string;
  readonly reason: string;
}

type Grant = Extract<PermissionNote, { kind: 'grant' }>;

/**
 * The permissions of a stack that no run has used, by the notes in a folder: `ROLE: ACTION`, or `ROLE: … on RESOURCE`
 * where a statement has several resources. And which of the exceptions are about nothing.
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
  // By role, action and resource: numbers of statements differ from one set of settings to another.
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

/** An ARN from the kind of its resource on. */
const shortened = (arn: string): string => arn.split(':').slice(5).join(':') || arn;
