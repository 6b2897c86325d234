import type { Credentials } from './signature.ts';

/** Plain data, because it is cloned for threads. */
export interface PolicyStatement {
  /** Such as `SendMessageRoleDefaultPolicy1[2]`: the policy and the index of the statement. */
  readonly source: string;
  readonly effect: 'Allow' | 'Deny';
  readonly actions?: readonly string[];
  readonly notActions?: readonly string[];
  readonly resources?: readonly string[];
  readonly notResources?: readonly string[];
  /** Only in resource-based and trust policies: `*`, or a kind and a name, such as `AWS:` and an ARN. */
  readonly principals?: readonly string[];
  readonly conditions: readonly PolicyCondition[];
}

export interface PolicyCondition {
  readonly operator: string;
  readonly ifExists: boolean;
  readonly set: 'ForAllValues' | 'ForAnyValue' | undefined;
  /** In lower case. */
  readonly key: string;
  readonly values: readonly string[];
}

export interface Session {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly arn: string;
  readonly roleArn: string;
  readonly roleLogicalId: string;
  readonly statements: readonly PolicyStatement[];
}

export interface AccessRules {
  readonly accountId: string;
  readonly region: string;
  /** Undefined in functions' threads. */
  readonly operator: Credentials | undefined;
  /** By access key. */
  readonly sessions: Map<string, Session>;
  /** By the resource's ARN. */
  readonly resourcePolicies: Map<string, readonly PolicyStatement[]>;
  /** The ARNs of customer managed keys, by the ARN of the resource that they encrypt. */
  readonly encryptionKeys: Map<string, string>;
}

/** By key in lower case. */
export type RequestContext = Readonly<Record<string, string | readonly string[]>>;

export interface Permission {
  readonly action: string;
  readonly resource: string;
  readonly context?: RequestContext;
}

export interface Denial {
  readonly reason: 'no-credentials' | 'unknown-key' | 'wrong-signature' | 'denied';
  readonly message: string;
}

/** `role` is the logical id of the caller's role, or empty for a caller without a role. */
export interface PermissionUse {
  readonly role: string;
  readonly statement: string;
  /** The statement's pattern that matches the action; `*` if it has NotAction. */
  readonly action: string;
  /** The statement's pattern that matches the resource; `*` if it has no Resource. */
  readonly resource: string;
}
