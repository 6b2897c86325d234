import type { AccessControl } from '../iam/access-control.ts';
import type { Denial } from '../iam/access-rules.ts';

const SERVICE = 'apigateway.amazonaws.com';

/** A function that the gateway calls for a method or an authorizer. */
interface Invocation {
  readonly functionArn: string;
  /** The role with which the gateway calls; undefined if the function's own policy allows the call. */
  readonly credentials: string | undefined;
  /** The ARN of the method or the authorizer. */
  readonly sourceArn: string;
}

/** Returns why API Gateway may not call a function; undefined if it may. */
export function denialOfInvocation(
  access: Pick<AccessControl, 'assume' | 'denialOfService' | 'rejectionOf'>,
  { functionArn, credentials, sourceArn }: Invocation,
): Denial | undefined {
  const needed = { action: 'lambda:InvokeFunction', resource: functionArn };
  if (credentials === undefined) return access.denialOfService(SERVICE, sourceArn, needed);
  const { accessKeyId } = access.assume({
    roleArn: credentials,
    service: SERVICE,
    sessionName: 'BackplaneAssumeRoleSession',
  });
  return access.rejectionOf(accessKeyId, [needed]);
}
