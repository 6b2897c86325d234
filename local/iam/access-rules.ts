import type { Credentials } from './signature.ts';

/** A statement of a policy, checked, without intrinsics: plain data, so that threads can be given it. */
export interface PolicyStatement {
  /** Where it stands, such as `SendMessageRoleDefaultPolicy1[2]`. */
  readonly source: string;
  readonly effect: 'Allow' | 'Deny';
  readonly actions?: readonly string[];
  readonly notActions?: readonly string[];
  readonly resources?: readonly string[];
  readonly notResources?: readonly string[];
  /** Of a resource's policy: `*`, `AWS:` and an ARN, or `Service:` and a name. */
  readonly principals?: readonly string[];
  readonly conditions: readonly PolicyCondition[];
}

export interface PolicyCondition {
  /** Without its prefix and suffix, such as StringLike. */
  readonly operator: string;
  readonly ifExists: boolean;
  readonly set: 'ForAllValues' | 'ForAnyValue' | undefined;
  /** In lower case. */
  readonly key: string;
  readonly values: readonly string[];
}

/** A role in the hands of one function or machine. */
export interface Session {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Such as `arn:aws:sts::000000000000:assumed-role/ROLE/FUNCTION`. */
  readonly arn: string;
  readonly roleArn: string;
  readonly roleLogicalId: string;
  readonly statements: readonly PolicyStatement[];
}

/** All that decides who may do what. */
export interface AccessRules {
  readonly accountId: string;
  readonly region: string;
  /** Undefined in functions' threads: nobody operates there. */
  readonly operator: Credentials | undefined;
  /** By access key. */
  readonly sessions: Map<string, Session>;
  /** By the ARN of the bucket, queue, key, secret, table or function. */
  readonly resourcePolicies: Map<string, readonly PolicyStatement[]>;
  /** The ARN of a bucket, queue, secret or table to that of the customer's key that encrypts it. */
  readonly encryptionKeys: Map<string, string>;
}

/** What is known of a call, by condition keys in lower case. */
export type RequestContext = Readonly<Record<string, string | readonly string[]>>;

/** One action on one resource, as IAM checks it; a call may need several. */
export interface Permission {
  /** Such as `dynamodb:PutItem`. */
  readonly action: string;
  /** Its ARN; `*` where the service has no resource for the action. */
  readonly resource: string;
  readonly context?: RequestContext;
}

/** Why a call is not carried out. */
export interface Denial {
  readonly reason: 'no-credentials' | 'unknown-key' | 'wrong-signature' | 'denied';
  readonly message: string;
}

/** A permission of a role's statement that let a call through. */
export interface PermissionUse {
  readonly role: string;
  readonly statement: string;
  /** As they stand in the statement. */
  readonly action: string;
  readonly resource: string;
}
