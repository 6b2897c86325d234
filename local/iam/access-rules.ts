import type { Credentials } from './signature.ts';

/** A checked statement of a policy, without intrinsic functions. Plain data, because it is cloned for threads. */
export interface PolicyStatement {
  /** The policy and the index of the statement in it, such as `SendMessageRoleDefaultPolicy1[2]`. */
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
  /** Such as StringLike, without prefix (`set`) and suffix (`ifExists`). */
  readonly operator: string;
  readonly ifExists: boolean;
  readonly set: 'ForAllValues' | 'ForAnyValue' | undefined;
  /** In lower case. */
  readonly key: string;
  readonly values: readonly string[];
}

/** The session of one function, of one state machine or of the gateway with its role. */
export interface Session {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Such as `arn:aws:sts::000000000000:assumed-role/ROLE/FUNCTION`. */
  readonly arn: string;
  readonly roleArn: string;
  readonly roleLogicalId: string;
  readonly statements: readonly PolicyStatement[];
}

/** The rules by which calls are allowed or denied. */
export interface AccessRules {
  readonly accountId: string;
  readonly region: string;
  /** Undefined in functions' threads. */
  readonly operator: Credentials | undefined;
  /** By access key. */
  readonly sessions: Map<string, Session>;
  /** By the ARN of the bucket, queue, key, secret, table or function. */
  readonly resourcePolicies: Map<string, readonly PolicyStatement[]>;
  /** The ARNs of customer managed keys, by the ARN of the bucket, queue, secret or table that they encrypt. */
  readonly encryptionKeys: Map<string, string>;
}

/** The values of a call's condition keys, by key in lower case. */
export type RequestContext = Readonly<Record<string, string | readonly string[]>>;

/** One action on one resource, as IAM checks it. A call may need several. */
export interface Permission {
  /** Such as `dynamodb:PutItem`. */
  readonly action: string;
  /** The resource's ARN; `*` if there is none, for example because the action has no resource. */
  readonly resource: string;
  readonly context?: RequestContext;
}

/** Why a call is rejected. */
export interface Denial {
  readonly reason: 'no-credentials' | 'unknown-key' | 'wrong-signature' | 'denied';
  readonly message: string;
}

/**
 * A permission of a statement that allowed a call. `role` is the logical id of the caller's role, or empty for a caller
 * without a role.
 */
export interface PermissionUse {
  readonly role: string;
  readonly statement: string;
  /** As written in the statement; `*` if it has NotAction. */
  readonly action: string;
  /** As written in the statement; `*` if it has no Resource. */
  readonly resource: string;
}
