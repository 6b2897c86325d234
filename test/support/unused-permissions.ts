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
type IsUsed = (role: string, action: string, resource: string) => boolean;

/**
 * Finds the permissions of a stack that no run has used, by the notes in a folder, as `ROLE: ACTION on RESOURCE`. It
 * also finds exceptions that match no permission.
 */
export function findUnusedPermissions(
  folder: string,
  stack: RegExp,
  untestable: readonly UntestablePermission[],
) {
  const own = readNotes(folder).filter((note) => stack.test(note.stack));
  const grants = new Map<string, Grant>();
  for (const note of own)
    if (note.kind === 'grant')
      grants.set(JSON.stringify([note.role, note.actions.toSorted(), note.resources.toSorted()]), note);
  // By role, action and resource, because the numbers of statements differ between settings.
  const uses = new Set(
    own.flatMap((note) => (note.kind === 'use' ? [`${note.role} ${note.action} ${note.resource}`] : [])),
  );
  const isUsed: IsUsed = (role, action, resource) => uses.has(`${role} ${action} ${resource}`);

  const unused = new Set<string>();
  const matched = new Set<UntestablePermission>();
  for (const grant of grants.values()) {
    const tested = grant.actions.filter((action) => {
      const exception = untestable.find((entry) => isException(entry, action, grant, isUsed));
      if (exception) matched.add(exception);
      return !exception;
    });
    for (const permission of unusedOf(grant, tested, isUsed)) unused.add(permission);
  }
  return {
    grants: grants.size,
    unused: [...unused].toSorted(),
    needless: untestable.filter((entry) => !matched.has(entry)).map(({ action }) => String(action)),
  };
}

function readNotes(folder: string): PermissionNote[] {
  return readdirSync(folder).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as PermissionNote),
  );
}

const isException = (
  { action: pattern, insteadOf }: UntestablePermission,
  action: string,
  { role, resources }: Grant,
  isUsed: IsUsed,
): boolean =>
  pattern.test(action) &&
  (insteadOf === undefined || resources.every((resource) => isUsed(role, insteadOf, resource)));

/** Actions of a grant that were used on none of its resources, and resources on which none of its actions was used. */
function unusedOf({ role, resources }: Grant, actions: readonly string[], isUsed: IsUsed): string[] {
  const unusedActions = actions.filter(
    (action) => !resources.some((resource) => isUsed(role, action, resource)),
  );
  const needsEach = actions.length > 0 && resources.length > 1;
  const unusedResources = needsEach
    ? resources.filter((resource) => !actions.some((action) => isUsed(role, action, resource)))
    : [];
  return [
    ...unusedActions.map((action) => `${nameOf(role)}: ${action} on ${resources.map(shortened).join(', ')}`),
    ...unusedResources.map((resource) => `${nameOf(role)}: ${actions.join(', ')} on ${shortened(resource)}`),
  ];
}

const nameOf = (role: string): string => role.replace(/(Role)?[0-9A-F]{8}$/, '');

/** The part of an ARN that starts with the kind of its resource. */
const shortened = (arn: string): string => arn.split(':').slice(5).join(':') || arn;
