import type { Template } from 'aws-cdk-lib/assertions';
import { createAccessControl } from '#local/iam/access-control.ts';
import type { Permission } from '#local/iam/access-rules.ts';
import { policies } from '#local/iam/policies.ts';
import type { RunContext } from '#local/run-context.ts';
import { createResolver } from '#local/template/resolve-template.ts';
import type { Resource } from './synthesize.ts';

const [accountId, region] = ['000000000000', 'us-east-1'];

/** The service and the form of the ARN of what roles have permissions for. */
const arnForms: Readonly<Record<string, (id: string) => string>> = {
  'AWS::DynamoDB::GlobalTable': (id) => `arn:aws:dynamodb:${region}:${accountId}:table/${id}`,
  'AWS::KMS::Key': (id) => `arn:aws:kms:${region}:${accountId}:key/${id}`,
  'AWS::Lambda::Function': (id) => `arn:aws:lambda:${region}:${accountId}:function:${id}`,
  'AWS::Logs::LogGroup': (id) => `arn:aws:logs:${region}:${accountId}:log-group:${id}:*`,
  'AWS::S3::Bucket': (id) => `arn:aws:s3:::${id}`,
  'AWS::SQS::Queue': (id) => `arn:aws:sqs:${region}:${accountId}:${id}`,
  'AWS::SecretsManager::Secret': (id) => `arn:aws:secretsmanager:${region}:${accountId}:secret:${id}`,
  'AWS::StepFunctions::StateMachine': (id) => `arn:aws:states:${region}:${accountId}:stateMachine:${id}`,
};

/** What each role of a template may do, as the runner's IAM evaluates it. Nothing runs. */
export async function openSessions(template: Template) {
  const { Resources } = template.toJSON() as { Resources: Record<string, Resource> };
  const access = createAccessControl(
    { accountId, region },
    { onUse: () => undefined, onDenied: () => undefined },
  );
  const idsOf = (type: string): string[] =>
    Object.keys(Resources).filter((id) => Resources[id]?.Type === type);
  const arnOf = (id: string): string => arnForms[Resources[id]?.Type ?? '']?.(id) ?? `arn:aws:other:::${id}`;
  const { resolve } = createResolver({
    template: template.toJSON() as Parameters<typeof createResolver>[0]['template'],
    pseudoParameters: {
      'AWS::AccountId': accountId,
      'AWS::Partition': 'aws',
      'AWS::Region': region,
      'AWS::StackName': 'agent-service-production',
      'AWS::URLSuffix': 'amazonaws.com',
    },
    ref: (id) => (/::(Secret|StateMachine)$/.test(Resources[id]?.Type ?? '') ? arnOf(id) : id),
    attribute: (id, name) =>
      name !== 'Arn' ? id : Resources[id]?.Type === 'AWS::IAM::Role' ? roleArnOf(id) : arnOf(id),
  });
  const roleArnOf = (id: string): string => `arn:aws:iam::${accountId}:role/${id}`;
  const context = {
    access,
    accountId,
    region,
    nameOf: ({ logicalId }: { logicalId: string }) => logicalId,
    resolve,
  };
  const known = Object.entries(Resources).filter(([, { Type }]) => policies.types.includes(Type));
  const kind = await policies.open(
    known.map(([logicalId, { Type: type, Properties: properties }]) => ({ logicalId, type, properties })),
    context as unknown as RunContext,
  );
  await kind.start?.();
  for (const id of idsOf('AWS::KMS::Key'))
    access.attachPolicy(arnOf(id), resolve(Resources[id]?.Properties.KeyPolicy, id), id);

  const ownRoles = idsOf('AWS::IAM::Role').filter(
    (id) => Resources[id]?.Properties.ManagedPolicyArns === undefined,
  );
  return {
    arnOf,
    idsOf,
    /** The only resource of a type whose logical id starts with this. */
    arn(type: string, start: string): string {
      const [id, ...others] = idsOf(type).filter((each) => each.startsWith(start));
      if (id === undefined || others.length > 0) throw new Error(`${others.length + 1} ${type} ${start}`);
      return arnOf(id);
    },
    /** Whether a role allows a call, by the role's construct. Without the library's roles, which have AWS's policies. */
    allows: new Map(
      ownRoles.map((id) => {
        const { Statement } = resolve(Resources[id]?.Properties.AssumeRolePolicyDocument, id) as {
          Statement: { Principal: { Service: string } }[];
        };
        const { accessKeyId } = access.assume({
          roleArn: roleArnOf(id),
          service: Statement[0]?.Principal.Service ?? '',
          sessionName: id,
        });
        const owner = id.replace(/Role[0-9A-F]{8}$/, '');
        return [owner, (needed: Permission) => access.rejectionOf(accessKeyId, [needed]) === undefined];
      }),
    ),
  };
}
