import {
  type AddToPrincipalPolicyResult,
  PolicyDocument,
  type PolicyStatement,
  Role,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

/**
 * A role whose permissions are part of the role itself. CDK would create another resource for the permissions of each
 * role, and a stack may have 500 resources.
 */
export class ServiceRole extends Role {
  private readonly permissions: PolicyDocument;

  /** @param service the service that assumes the role, such as `lambda.amazonaws.com` */
  constructor(scope: Construct, id: string, service: string) {
    const permissions = new PolicyDocument();
    super(scope, id, {
      assumedBy: new ServicePrincipal(service),
      inlinePolicies: { Permissions: permissions },
    });
    this.permissions = permissions;
  }

  override addToPrincipalPolicy(statement: PolicyStatement): AddToPrincipalPolicyResult {
    this.permissions.addStatements(statement);
    return { statementAdded: true, policyDependable: this };
  }
}
