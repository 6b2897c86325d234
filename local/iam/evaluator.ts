import type {
  AccessRules,
  Denial,
  Permission,
  PermissionUse,
  PolicyStatement,
  RequestContext,
  Session,
} from './access-rules.ts';
import { meetsConditions } from './conditions.ts';
import { keyUses } from './key-uses.ts';
import { matchesPattern } from './matches-pattern.ts';

export interface Evaluator {
  /** Undefined if the caller with this access key has all permissions. */
  rejectionOf(accessKeyId: string | undefined, needed: readonly Permission[]): Denial | undefined;
  /** The same for a caller without any credentials. */
  denialOfAnonymous(needed: readonly Permission[]): Denial | undefined;
  /** The same for a service that calls on behalf of one of its resources. */
  denialOfService(service: string, sourceArn: string, needed: Permission): Denial | undefined;
}

export interface EvaluatorNotes {
  /** Called once for each permission, at its first use. */
  onUse(use: PermissionUse): void;
  onDenied(message: string): void;
}

interface Caller {
  readonly name: string;
  /** The principals by which a resource-based policy can allow the caller without an identity-based policy. */
  readonly principals: readonly string[];
  /** The principals of its account. A resource-based policy can delegate the decision to the account. */
  readonly account: readonly string[];
  readonly session?: Session;
  readonly context: RequestContext;
}

type Decision = { readonly allowedBy: Match } | { readonly reason: string };
type Match = { readonly statement: PolicyStatement; readonly action: string; readonly resource: string };

/** Evaluates policies as IAM does within one account. Rules may be added later. */
export function createEvaluator(rules: AccessRules, notes: EvaluatorNotes): Evaluator {
  const { accountId, region } = rules;
  const account = [`AWS:arn:aws:iam::${accountId}:root`, `AWS:${accountId}`];
  // SDKs use TLS with AWS. The emulators use HTTP, but the template's conditions must not fail because of it.
  const commonContext = { 'aws:securetransport': 'true', 'aws:requestedregion': region };
  const callers = new Map<string, Caller>();
  const candidates = new WeakMap<readonly PolicyStatement[], Map<string, readonly PolicyStatement[]>>();
  const used = new WeakMap<PolicyStatement, Set<string>>();

  function callerOf(session: Session): Caller {
    const cached = callers.get(session.accessKeyId);
    if (cached) return cached;
    const caller = {
      name: session.arn,
      principals: ['*', `AWS:${session.roleArn}`, `AWS:${session.arn}`],
      account,
      session,
      context: {
        ...commonContext,
        'aws:principalaccount': accountId,
        'aws:principalarn': session.roleArn,
        'aws:principalisawsservice': 'false',
      },
    };
    callers.set(session.accessKeyId, caller);
    return caller;
  }

  /** The statements whose actions match, cached by action. */
  function statementsFor(statements: readonly PolicyStatement[], action: string): readonly PolicyStatement[] {
    const byAction = candidates.get(statements) ?? new Map<string, readonly PolicyStatement[]>();
    candidates.set(statements, byAction);
    const cached = byAction.get(action);
    if (cached) return cached;
    const found = statements.filter(({ actions, notActions = [] }) =>
      actions
        ? actions.some((pattern) => matchesAction(pattern, action))
        : !notActions.some((pattern) => matchesAction(pattern, action)),
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
    for (const statement of statementsFor(statements, action)) {
      if (statement.effect !== effect) continue;
      if (principals && !statement.principals?.some((principal) => principals.includes(principal))) continue;
      const matched = resourceOf(statement, resource);
      if (matched === undefined || !meetsConditions(statement.conditions, context)) continue;
      return { statement, action, resource: matched };
    }
    return undefined;
  }

  function evaluate(caller: Caller, needed: Permission): Decision {
    const { action, resource } = needed;
    const context = needed.context ? { ...caller.context, ...needed.context } : caller.context;
    const identityBased = caller.session?.statements ?? [];
    const resourceBased = rules.resourcePolicies.get(ownerOf(resource)) ?? [];
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
    // A key's policy must delegate to the account; otherwise identity-based policies have no effect.
    if (action.startsWith('kms:') && !find('Allow', resourceBased, needed, context, caller.account))
      return { reason: `because no resource-based policy allows the ${action} action` };
    return { allowedBy };
  }

  function note({ session }: Caller, { statement, action, resource }: Match): void {
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
  }

  function rejection(caller: Caller, needed: readonly Permission[]): Denial | undefined {
    for (const permission of needed) {
      const key = rules.encryptionKeys.get(ownerOf(permission.resource));
      for (const each of [permission, ...keyUses(permission, key, region)]) {
        const decision = evaluate(caller, each);
        if ('allowedBy' in decision) {
          note(caller, decision.allowedBy);
          continue;
        }
        const { action, resource } = each;
        const message = `User: ${caller.name} is not authorized to perform: ${action} on resource: ${resource} ${decision.reason}`;
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
      rejection({ name: 'anonymous', principals: ['*'], account: [], context: commonContext }, needed),
    denialOfService: (service, sourceArn, needed) =>
      rejection(
        {
          name: `${service} for ${sourceArn}`,
          principals: ['*', `Service:${service}`],
          account: [],
          context: {
            ...commonContext,
            'aws:principalisawsservice': 'true',
            'aws:sourcearn': sourceArn,
            'aws:sourceaccount': accountId,
          },
        },
        [needed],
      ),
  };
}

/** Names of actions are not case-sensitive. */
const matchesAction = (pattern: string, action: string): boolean =>
  matchesPattern(pattern.toLowerCase(), action.toLowerCase());

/** The statement's pattern that matches the resource; undefined if the statement does not apply to it. */
function resourceOf({ resources, notResources }: PolicyStatement, resource: string): string | undefined {
  if (resources) return resources.find((pattern) => matchesPattern(pattern, resource));
  if (notResources?.some((pattern) => matchesPattern(pattern, resource))) return undefined;
  return '*';
}

/** The resource that has the policy and the key: for an object its bucket, for an index its table. */
function ownerOf(resource: string): string {
  if (resource.startsWith('arn:aws:s3:::')) return resource.split('/', 1)[0] ?? '';
  if (resource.startsWith('arn:aws:dynamodb:')) return resource.split('/', 2).join('/');
  return resource;
}
