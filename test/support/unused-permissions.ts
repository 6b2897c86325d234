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
  {
    untestable,
    sameAs = {},
    standIn = (resource) => resource,
  }: {
    untestable: readonly UntestablePermission[];
    /** By the name of a role: another role, whose uses count for it as well. */
    sameAs?: Readonly<Record<string, string>>;
    /** The resource whose uses count for this one: its own, or one that has its place with other settings. */
    standIn?: (resource: string) => string;
  },
) {
  const notes = readNotes(folder, standIn).filter((note) => stack.test(note.stack));
  const grants = distinctGrants(notes);
  // By role, action and resource, because the numbers of statements differ between settings.
  const used = new Set(
    notes.flatMap((note) =>
      note.kind === 'use' ? [`${nameOf(note.role)} ${note.action} ${note.resource}`] : [],
    ),
  );
  const isUsed = (role: string, action: string, resource: string) =>
    [nameOf(role), sameAs[nameOf(role)]].some((name) => used.has(`${name} ${action} ${resource}`));

  const matched = new Set<UntestablePermission>();
  const isTestable = ({ role, resources }: Grant, action: string): boolean => {
    const exception = untestable.find(
      ({ action: pattern, insteadOf }) =>
        pattern.test(action) &&
        (insteadOf === undefined || resources.every((resource) => isUsed(role, insteadOf, resource))),
    );
    if (exception) matched.add(exception);
    return !exception;
  };
  const unused = grants.flatMap((grant) => {
    const tested = grant.actions.filter((action) => isTestable(grant, action));
    return [...unusedActions(grant, tested, isUsed), ...unusedResources(grant, tested, isUsed)];
  });
  return {
    grants: grants.length,
    unused: [...new Set(unused)].toSorted(),
    needless: untestable.filter((entry) => !matched.has(entry)).map(({ action }) => String(action)),
  };
}

const readNotes = (folder: string, standIn: (resource: string) => string): PermissionNote[] =>
  readdirSync(folder).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as PermissionNote)
      .map((note) =>
        note.kind === 'grant'
          ? { ...note, resources: [...new Set(note.resources.map(standIn))] }
          : { ...note, resource: standIn(note.resource) },
      ),
  );

function distinctGrants(notes: readonly PermissionNote[]): Grant[] {
  const grants = new Map<string, Grant>();
  for (const note of notes)
    if (note.kind === 'grant')
      grants.set(JSON.stringify([note.role, note.actions.toSorted(), note.resources.toSorted()]), note);
  return [...grants.values()];
}

type IsUsed = (role: string, action: string, resource: string) => boolean;

/** Actions that are used on none of the grant's resources. */
const unusedActions = ({ role, resources }: Grant, actions: readonly string[], isUsed: IsUsed): string[] =>
  actions
    .filter((action) => !resources.some((resource) => isUsed(role, action, resource)))
    .map((action) => `${nameOf(role)}: ${action} on ${resources.map(shortened).join(', ')}`);

/** Resources on which none of these actions is used, if the grant has several. */
function unusedResources({ role, resources }: Grant, actions: readonly string[], isUsed: IsUsed): string[] {
  if (actions.length === 0 || resources.length === 1) return [];
  return resources
    .filter((resource) => !actions.some((action) => isUsed(role, action, resource)))
    .map((resource) => `${nameOf(role)}: ${actions.join(', ')} on ${shortened(resource)}`);
}

const nameOf = (role: string): string => role.replace(/(Role)?[0-9A-F]{8}$/, '');

/** The part of an ARN that starts with the kind of its resource. */
const shortened = (arn: string): string => arn.split(':').slice(5).join(':') || arn;
