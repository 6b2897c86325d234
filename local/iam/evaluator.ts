import type {
  AccessRules,
  Denial,
  Permission,
  PermissionUse,
  PolicyStatement,
  RequestContext,
  Session,
} from './access-rules.ts';
import { conditionsHold } from './conditions.ts';
import { keyUses } from './key-uses.ts';
import { matchesPattern } from './matches-pattern.ts';

export interface Evaluator {
  /** Undefined when whoever has this access key may do all of it. */
  rejectionOf(accessKeyId: string | undefined, needed: readonly Permission[]): Denial | undefined;
  /** The same for a caller without any credentials. */
  denialOfAnonymous(needed: readonly Permission[]): Denial | undefined;
  /** The same for a service that calls in the name of one of its resources. */
  denialOfService(service: string, sourceArn: string, needed: Permission): Denial | undefined;
}

export interface EvaluatorNotes {
  /** Told once for each permission. */
  onUse(use: PermissionUse): void;
  onDenied(message: string): void;
}

interface Caller {
  readonly name: string;
  /** What a resource's policy may name it by, so that it is allowed by that policy alone. */
  readonly principals: readonly string[];
  /** Its account, to which a policy may leave the decision. */
  readonly account: readonly string[];
  readonly session?: Session;
  readonly context: RequestContext;
}

type Verdict = { readonly allowedBy: Match } | { readonly because: string };
type Match = { readonly statement: PolicyStatement; readonly action: string; readonly resource: string };

/** Decides as IAM does inside one account. The rules may still grow. */
export function createEvaluator(rules: AccessRules, notes: EvaluatorNotes): Evaluator {
  const { accountId, region } = rules;
  const account = [`AWS:arn:aws:iam::${accountId}:root`, `AWS:${accountId}`];
  // All SDKs speak TLS to AWS; that the engines of this machine do not is no matter of the template.
  const everywhere = { 'aws:securetransport': 'true', 'aws:requestedregion': region };
  const callers = new Map<string, Caller>();
  const candidates = new WeakMap<readonly PolicyStatement[], Map<string, readonly PolicyStatement[]>>();
  const used = new WeakMap<PolicyStatement, Set<string>>();

  function callerOf(session: Session): Caller {
    const known = callers.get(session.accessKeyId);
    if (known) return known;
    const caller = {
      name: session.arn,
      principals: ['*', `AWS:${session.roleArn}`, `AWS:${session.arn}`],
      account,
      session,
      context: {
        ...everywhere,
        'aws:principalaccount': accountId,
        'aws:principalarn': session.roleArn,
        'aws:principalisawsservice': 'false',
      },
    };
    callers.set(session.accessKeyId, caller);
    return caller;
  }

  /** The statements that are about an action, found once. */
  function about(statements: readonly PolicyStatement[], action: string): readonly PolicyStatement[] {
    const byAction = candidates.get(statements) ?? new Map<string, readonly PolicyStatement[]>();
    candidates.set(statements, byAction);
    const known = byAction.get(action);
    if (known) return known;
    const found = statements.filter(({ actions, notActions = [] }) =>
      actions
        ? actions.some((pattern) => isAbout(pattern, action))
        : !notActions.some((pattern) => isAbout(pattern, action)),
    );
    byAction.set(action, found);
    return found;
  }

  function find(
    effect: PolicyStatement['effect'],
    statements: readonly PolicyStatement[],
    { action, resource }: Permission,
    context: RequestContext,
    principals?: readonly string[],
  ): Match | undefined {
    for (const statement of about(statements, action)) {
      if (statement.effect !== effect) continue;
      if (principals && !statement.principals?.some((principal) => principals.includes(principal))) continue;
      const matched = resourceOf(statement, resource);
      if (matched === undefined || !conditionsHold(statement.conditions, context)) continue;
      return { statement, action, resource: matched };
    }
    return undefined;
  }

  function evaluate(caller: Caller, needed: Permission): Verdict {
    const { action, resource } = needed;
    const context = needed.context ? { ...caller.context, ...needed.context } : caller.context;
    const own = caller.session?.statements ?? [];
    const policy = rules.resourcePolicies.get(ownerOf(resource)) ?? [];
    if (find('Deny', own, needed, context))
      return { because: 'with an explicit deny in an identity-based policy' };
    if (find('Deny', policy, needed, context, [...caller.principals, ...caller.account]))
      return { because: 'with an explicit deny in a resource-based policy' };
    const byPolicy = find('Allow', policy, needed, context, caller.principals);
    if (byPolicy) return { allowedBy: byPolicy };
    const allowedBy = find('Allow', own, needed, context);
    if (!allowedBy) {
      const kind = caller.session ? 'identity' : 'resource';
      return { because: `because no ${kind}-based policy allows the ${action} action` };
    }
    // A key's own policy is above all others: it must leave the decision to the account's.
    if (action.startsWith('kms:') && !find('Allow', policy, needed, context, caller.account))
      return { because: `because no resource-based policy allows the ${action} action` };
    return { allowedBy };
  }

  function note({ session }: Caller, { statement, action, resource }: Match): void {
    const seen = used.get(statement) ?? new Set<string>();
    const key = `${action} ${resource}`;
    if (seen.has(key)) return;
    used.set(statement, seen.add(key));
    const pattern = statement.actions?.find((entry) => isAbout(entry, action)) ?? '*';
    notes.onUse({
      role: session?.roleLogicalId ?? '',
      statement: statement.source,
      action: pattern,
      resource,
    });
  }

  function rejection(caller: Caller, needed: readonly Permission[]): Denial | undefined {
    for (const permission of needed) {
      const key = rules.encryptionKeys.get(ownerOf(permission.resource));
      for (const each of [permission, ...keyUses(permission, key, region)]) {
        const verdict = evaluate(caller, each);
        if ('allowedBy' in verdict) {
          note(caller, verdict.allowedBy);
          continue;
        }
        const { action, resource } = each;
        const message = `User: ${caller.name} is not authorized to perform: ${action} on resource: ${resource} ${verdict.because}`;
        notes.onDenied(message);
        return { reason: 'denied', message };
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
      if (session) return rejection(callerOf(session), needed);
      return { reason: 'unknown-key', message: 'The security token included in the request is invalid.' };
    },
    denialOfAnonymous: (needed) =>
      rejection({ name: 'anonymous', principals: ['*'], account: [], context: everywhere }, needed),
    denialOfService: (service, sourceArn, needed) =>
      rejection(
        {
          name: `${service} for ${sourceArn}`,
          principals: ['*', `Service:${service}`],
          account: [],
          context: {
            ...everywhere,
            'aws:principalisawsservice': 'true',
            'aws:sourcearn': sourceArn,
            'aws:sourceaccount': accountId,
          },
        },
        [needed],
      ),
  };
}

/** Names of actions have no case. */
const isAbout = (pattern: string, action: string): boolean =>
  matchesPattern(pattern.toLowerCase(), action.toLowerCase());

/** The pattern that names the resource; undefined when the statement is about others. */
function resourceOf({ resources, notResources }: PolicyStatement, resource: string): string | undefined {
  if (resources) return resources.find((pattern) => matchesPattern(pattern, resource));
  if (notResources?.some((pattern) => matchesPattern(pattern, resource))) return undefined;
  return '*';
}

/** What has the policy and the key for a resource: of an object its bucket, of an index its table. */
function ownerOf(resource: string): string {
  if (resource.startsWith('arn:aws:s3:::')) return resource.split('/', 1)[0] ?? '';
  if (resource.startsWith('arn:aws:dynamodb:')) return resource.split('/', 2).join('/');
  return resource;
}
