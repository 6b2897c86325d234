import { randomBytes } from 'node:crypto';
import type { AccessRules, PolicyStatement, Session } from './access-rules.ts';
import { createEvaluator, type Evaluator, type EvaluatorNotes } from './evaluator.ts';
import { operatorCredentials } from './operator-credentials.ts';
import { readPolicy } from './read-policy.ts';

export interface Role {
  readonly logicalId: string;
  readonly name: string;
  readonly arn: string;
  readonly trust: readonly PolicyStatement[];
  readonly statements: readonly PolicyStatement[];
}

export interface AccessControl extends Evaluator {
  readonly rules: AccessRules;
  readonly notes: EvaluatorNotes;
  readonly onAssumed: ((role: Role) => void)[];
  /** Set by the resource kind of roles (local/iam/policies.ts). */
  findRole: (arn: string) => Role | undefined;
  /**
   * @param source names the policy in errors and notes
   * @throws Error if the policy contains something that the runner does not support
   */
  attachPolicy(resourceArn: string, document: unknown, source: string): void;
  /**
   * @throws Error if the role does not exist, if its policies contain something that the runner does not support, or,
   * for a new session, if it does not trust the service
   */
  assume(how: { readonly roleArn: string; readonly service: string; readonly sessionName: string }): Session;
}

export function createAccessControl(
  { accountId, region }: Pick<AccessRules, 'accountId' | 'region'>,
  notes: EvaluatorNotes,
): AccessControl {
  const rules: AccessRules = {
    accountId,
    region,
    operator: operatorCredentials,
    sessions: new Map(),
    resourcePolicies: new Map(),
    encryptionKeys: new Map(),
  };
  const control: AccessControl = {
    ...createEvaluator(rules, notes),
    rules,
    notes,
    onAssumed: [],
    findRole: () => undefined,

    attachPolicy(resourceArn, document, source) {
      const previous = rules.resourcePolicies.get(resourceArn) ?? [];
      rules.resourcePolicies.set(resourceArn, [...previous, ...readPolicy(document, source)]);
    },

    assume({ roleArn, service, sessionName }) {
      const role = control.findRole(roleArn);
      if (!role) throw new Error(`the role ${roleArn} is not in the template`);
      const known = [...rules.sessions.values()].find(({ arn }) => arn === sessionArn(role, sessionName));
      if (known) return known;
      if (!trusts(role, service)) throw new Error(`the role ${role.name} cannot be assumed by ${service}`);
      const session: Session = {
        // As in AWS, access keys of sessions start with ASIA.
        accessKeyId: `ASIA${randomBytes(8).toString('hex').toUpperCase()}`,
        secretAccessKey: randomBytes(30).toString('base64url'),
        arn: sessionArn(role, sessionName),
        roleArn: role.arn,
        roleLogicalId: role.logicalId,
        statements: role.statements,
      };
      rules.sessions.set(session.accessKeyId, session);
      for (const listener of control.onAssumed) listener(role);
      return session;
    },
  };
  const sessionArn = ({ name }: Role, sessionName: string) =>
    `arn:aws:sts::${accountId}:assumed-role/${name}/${sessionName}`;
  return control;
}

/** Conditions count as met; wildcards match nothing. */
function trusts({ trust }: Role, service: string): boolean {
  const effects = trust
    .filter(
      ({ actions, principals }) =>
        actions?.includes('sts:AssumeRole') && principals?.includes(`Service:${service}`),
    )
    .map(({ effect }) => effect);
  return effects.includes('Allow') && !effects.includes('Deny');
}
