import type { RunContext } from '../run-context.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import type { TemplateResource } from '../template/template-resource.ts';
import type { Role } from './access-control.ts';
import type { PolicyStatement } from './access-rules.ts';
import { managedPolicies } from './managed-policies.ts';
import { readPolicy } from './read-policy.ts';

const ROLE = 'AWS::IAM::Role';
const MANAGED = 'AWS::IAM::ManagedPolicy';
const ATTACHED = ['AWS::IAM::Policy', 'AWS::IAM::RolePolicy', MANAGED];
const OF_RESOURCES = [
  'AWS::S3::BucketPolicy',
  'AWS::SQS::QueuePolicy',
  'AWS::SecretsManager::ResourcePolicy',
];

interface RoleProperties {
  readonly AssumeRolePolicyDocument: unknown;
  readonly ManagedPolicyArns?: readonly string[];
  readonly Path?: string;
  readonly PermissionsBoundary?: string;
  readonly Policies?: readonly { readonly PolicyName: string; readonly PolicyDocument: unknown }[];
  readonly RoleName?: string;
}

interface PolicyProperties {
  readonly PolicyDocument: unknown;
  readonly RoleName?: string;
  readonly Roles?: readonly string[];
}

interface ResourcePolicyProperties {
  readonly Bucket?: string;
  readonly Queues?: readonly string[];
  readonly SecretId?: string;
  readonly PolicyDocument?: unknown;
  readonly ResourcePolicy?: unknown;
}

/** A role is read when it is first assumed. */
export const policies: ResourceKind = {
  types: [ROLE, ...ATTACHED, ...OF_RESOURCES],

  async open(resources, context) {
    const nameOf = (resource: TemplateResource) => context.nameOf(resource, 'RoleName');
    const arnOf = (resource: TemplateResource): string => {
      if (resource.type !== ROLE) return managedArnOf(resource);
      const path = String(context.resolve(resource.properties.Path, resource.logicalId) ?? '/');
      return `arn:aws:iam::${context.accountId}:role${path}${nameOf(resource)}`;
    };
    const managedArnOf = (resource: TemplateResource): string =>
      `arn:aws:iam::${context.accountId}:policy/${context.nameOf(resource, 'ManagedPolicyName')}`;
    const read = <Properties>({ properties, logicalId }: TemplateResource) =>
      context.resolve(properties, logicalId) as Properties;

    function statementsOf(role: TemplateResource): PolicyStatement[] {
      const { ManagedPolicyArns = [], PermissionsBoundary, Policies = [] } = read<RoleProperties>(role);
      if (PermissionsBoundary !== undefined)
        throw new Error(`${role.logicalId} (${ROLE}): PermissionsBoundary is not available locally`);
      const attached = resources.filter((resource) => {
        if (!ATTACHED.includes(resource.type)) return false;
        if (ManagedPolicyArns.includes(resource.type === MANAGED ? managedArnOf(resource) : '')) return true;
        const { RoleName, Roles = [] } = read<PolicyProperties>(resource);
        return [RoleName, ...Roles].includes(nameOf(role));
      });
      const ofTemplate = resources.filter(({ type }) => type === MANAGED).map(managedArnOf);
      return [
        ...Policies.flatMap((policy) =>
          readPolicy(policy.PolicyDocument, `${role.logicalId}.${policy.PolicyName}`),
        ),
        ...attached.flatMap((policy) =>
          readPolicy(read<PolicyProperties>(policy).PolicyDocument, policy.logicalId),
        ),
        ...ManagedPolicyArns.filter((arn) => !ofTemplate.includes(arn)).flatMap((arn) =>
          readManaged(arn, role),
        ),
      ];
    }

    const known = new Map<string, Role>();
    context.access.findRole = (arn) => {
      const role = resources.find((resource) => resource.type === ROLE && arnOf(resource) === arn);
      const found = known.get(arn);
      if (found || !role) return found;
      const { AssumeRolePolicyDocument } = read<RoleProperties>(role);
      const created: Role = {
        logicalId: role.logicalId,
        name: nameOf(role),
        arn,
        trust: readPolicy(AssumeRolePolicyDocument, `${role.logicalId}.AssumeRolePolicyDocument`),
        statements: statementsOf(role),
      };
      known.set(arn, created);
      return created;
    };

    return {
      ref: (resource) => (resource.type === ROLE ? nameOf(resource) : context.nameOf(resource)),
      attribute: (resource, name) =>
        ({ Arn: arnOf(resource), PolicyArn: arnOf(resource), RoleId: resource.logicalId })[name],
      async start() {
        for (const resource of resources.filter(({ type }) => OF_RESOURCES.includes(type)))
          attach(resource, read<ResourcePolicyProperties>(resource), context);
      },
    };
  },
};

function readManaged(arn: string, role: TemplateResource): PolicyStatement[] {
  const name = arn.replace(/^arn:aws:iam::aws:policy\//, '');
  const document = managedPolicies[name];
  if (document) return readPolicy(document, name);
  throw new Error(`${role.logicalId} (${ROLE}): the policy ${arn} is not known locally`);
}

function attach(
  { logicalId }: TemplateResource,
  { Bucket, Queues = [], SecretId, PolicyDocument, ResourcePolicy }: ResourcePolicyProperties,
  { access, region, accountId }: RunContext,
): void {
  if (Bucket !== undefined) access.attachPolicy(`arn:aws:s3:::${Bucket}`, PolicyDocument, logicalId);
  for (const url of Queues)
    access.attachPolicy(
      `arn:aws:sqs:${region}:${accountId}:${url.split('/').pop()}`,
      PolicyDocument,
      logicalId,
    );
  if (SecretId !== undefined) access.attachPolicy(SecretId, ResourcePolicy, logicalId);
}
