import { randomBytes } from 'node:crypto';
import type { AccessRules, PolicyStatement, Session } from './access-rules.ts';
import { createEvaluator, type Evaluator, type EvaluatorNotes } from './evaluator.ts';
import { operatorCredentials } from './operator-credentials.ts';
import { readPolicy } from './read-policy.ts';

/** A role of the template with everything resolved. */
export interface Role {
  readonly logicalId: string;
  readonly name: string;
  readonly arn: string;
  readonly trust: readonly PolicyStatement[];
  readonly statements: readonly PolicyStatement[];
}

export interface AccessControl extends Evaluator {
  readonly rules: AccessRules;
  /** Told also by judges in other threads. */
  readonly notes: EvaluatorNotes;
  /** Told of each role that something has assumed. */
  readonly onAssumed: ((role: Role) => void)[];
  /** Finds the template's roles; set by their kind when all kinds are open. */
  findRole: (arn: string) => Role | undefined;
  /** @throws Error when the policy says what cannot be held to here */
  attachPolicy(resourceArn: string, document: unknown, source: string): void;
  /**
   * The role in the hands of a function or machine, with credentials that this run has drawn.
   * @throws Error when there is no such role, or the service may not assume it
   */
  assume(how: { readonly roleArn: string; readonly service: string; readonly sessionName: string }): Session;
}

/** Who may do what in a run, by the policies of its template. */
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
        // ASIA begins the access keys of roles.
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

/** Conditions of a trust narrow who of the service may assume the role; here there is nobody else. */
function trusts({ trust }: Role, service: string): boolean {
  return trust.some(
    ({ effect, actions, principals }) =>
      effect === 'Allow' && actions?.includes('sts:AssumeRole') && principals?.includes(`Service:${service}`),
  );
}
