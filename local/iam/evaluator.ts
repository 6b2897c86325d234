import type { AccessRules, Denial, Permission, PermissionUse, PolicyStatement } from './access-rules.ts';
import { type Caller, createCallers } from './callers.ts';
import { createStatementFinder, type FindStatement, type Match, matchesAction } from './find-statement.ts';
import { keyUses } from './key-uses.ts';

export interface Evaluator {
  /** Undefined if the caller has all needed permissions. */
  rejectionOf(accessKeyId: string | undefined, needed: readonly Permission[]): Denial | undefined;
  denialOfAnonymous(needed: readonly Permission[]): Denial | undefined;
  /** For a call that an AWS service makes on behalf of the resource `sourceArn`. Undefined if the call is allowed. */
  denialOfService(service: string, sourceArn: string, needed: Permission): Denial | undefined;
}

export interface EvaluatorNotes {
  /** Called at the first use of a permission, and perhaps again at later ones. */
  onUse(use: PermissionUse): void;
  onDenied(message: string): void;
}

type Decision = { readonly allowedBy: Match } | { readonly reason: string };

/** Entries may be added to `rules` later. */
export function createEvaluator(rules: AccessRules, notes: EvaluatorNotes): Evaluator {
  const { region, resourcePolicies, encryptionKeys } = rules;
  const callers = createCallers(rules);
  const find = createStatementFinder();
  const noteUse = createUseNotes(notes);

  function evaluateOne(caller: Caller, needed: Permission): Denial | undefined {
    const { action, resource } = needed;
    const decision = decide(find, caller, needed, resourcePolicies.get(ownerOf(resource)) ?? []);
    if ('allowedBy' in decision) {
      noteUse(caller, decision.allowedBy);
      return undefined;
    }
    const message = `User: ${caller.name} is not authorized to perform: ${action} on resource: ${resource} ${decision.reason}`;
    notes.onDenied(message);
    return { reason: 'denied', message };
  }

  function evaluate(caller: Caller, needed: readonly Permission[]): Denial | undefined {
    for (const permission of needed) {
      const key = encryptionKeys.get(ownerOf(permission.resource));
      for (const each of [permission, ...keyUses(permission, key, region)]) {
        const denial = evaluateOne(caller, each);
        if (denial) return denial;
      }
    }
    return undefined;
  }

  return {
    rejectionOf(accessKeyId, needed) {
      if (accessKeyId === undefined)
        return { reason: 'no-credentials', message: 'Request is missing Authentication Token' };
      if (accessKeyId === rules.operator?.accessKeyId) return undefined;
      const session = rules.sessions.get(accessKeyId);
      if (session) return evaluate(callers.ofSession(session), needed);
      return { reason: 'unknown-key', message: 'The security token included in the request is invalid.' };
    },
    denialOfAnonymous: (needed) => evaluate(callers.anonymous, needed),
    denialOfService: (service, sourceArn, needed) =>
      evaluate(callers.ofService(service, sourceArn), [needed]),
  };
}

function decide(
  find: FindStatement,
  caller: Caller,
  needed: Permission,
  resourceBased: readonly PolicyStatement[],
): Decision {
  const { action } = needed;
  const context = needed.context ? { ...caller.context, ...needed.context } : caller.context;
  const identityBased = caller.session?.statements ?? [];
  if (find('Deny', identityBased, needed, context))
    return { reason: 'with an explicit deny in an identity-based policy' };
  if (find('Deny', resourceBased, needed, context, [...caller.principals, ...caller.account]))
    return { reason: 'with an explicit deny in a resource-based policy' };
  const byPolicy = find('Allow', resourceBased, needed, context, caller.principals);
  if (byPolicy) return { allowedBy: byPolicy };
  const allowedBy = find('Allow', identityBased, needed, context);
  if (!allowedBy) {
    const kind = caller.session ? 'identity' : 'resource';
    return { reason: `because no ${kind}-based policy allows the ${action} action` };
  }
  // Identity-based policies can allow the use of a key only if the key's policy delegates to the account.
  if (action.startsWith('kms:') && !find('Allow', resourceBased, needed, context, caller.account))
    return { reason: `because no resource-based policy allows the ${action} action` };
  return { allowedBy };
}

function createUseNotes(notes: EvaluatorNotes) {
  const used = new WeakMap<PolicyStatement, Set<string>>();
  return ({ session }: Caller, { statement, action, resource }: Match): void => {
    const noted = used.get(statement) ?? new Set<string>();
    const key = `${action} ${resource}`;
    if (noted.has(key)) return;
    used.set(statement, noted.add(key));
    const pattern = statement.actions?.find((entry) => matchesAction(entry, action)) ?? '*';
    notes.onUse({
      role: session?.roleLogicalId ?? '',
      statement: statement.source,
      action: pattern,
      resource,
    });
  };
}

/** The resource that has the policy and the encryption key: for an object its bucket, for an index its table. */
function ownerOf(resource: string): string {
  if (resource.startsWith('arn:aws:s3:::')) return resource.split('/', 1)[0] ?? '';
  if (resource.startsWith('arn:aws:dynamodb:')) return resource.split('/', 2).join('/');
  return resource;
}
