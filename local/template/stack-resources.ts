import type { Template } from './read-assembly.ts';
import type { ResourceKind } from './resource-kind.ts';
import { resourceKinds } from './resource-kinds.ts';
import type { TemplateResource } from './template-resource.ts';

export function readStackResources(
  { Resources = {} }: Template,
  isMet: (condition: string | undefined) => boolean,
) {
  const resources = new Map<string, TemplateResource>();
  for (const [logicalId, entry] of Object.entries(Resources)) {
    const { Type: type, Condition, Properties: properties = {} } = entry;
    if (!isMet(Condition)) continue;
    if (!kindOf(type) && !hasNoEffect(type))
      throw new Error(`${logicalId} (${type}): this resource type cannot run locally`);
    resources.set(logicalId, { logicalId, type, properties });
  }

  // Functions of custom resources do not run here, because a run has no deployment.
  const customResourceFunctions = new Set(
    Object.values(Resources)
      .filter(({ Type }) => Type.startsWith('Custom::'))
      .map(({ Properties }) => functionOf(Properties?.ServiceToken)),
  );
  const isIgnored = ({ type, logicalId }: TemplateResource) =>
    hasNoEffect(type) || customResourceFunctions.has(logicalId);

  return {
    logicalIds: [...resources.keys()],
    find(logicalId: string): TemplateResource {
      const resource = resources.get(logicalId);
      if (!resource) throw new Error(`${logicalId} is referenced, but the template does not contain it`);
      return resource;
    },
    isIgnored,
    ofKind: ({ types }: ResourceKind): readonly TemplateResource[] =>
      [...resources.values()].filter((resource) => types.includes(resource.type) && !isIgnored(resource)),
  };
}

export function kindOf(type: string): ResourceKind | undefined {
  return resourceKinds.find((kind) => kind.types.includes(type));
}

const functionOf = (serviceToken: unknown): string | undefined => {
  const attribute = (serviceToken as { 'Fn::GetAtt'?: readonly string[] } | undefined)?.['Fn::GetAtt'];
  return attribute?.[0];
};

export type StackResources = ReturnType<typeof readStackResources>;

/** Resources of these types are accepted, but do not run. */
const WITHOUT_EFFECT = [
  'AWS::ApiGateway::Account',
  'AWS::ApiGateway::Model', // the runner rejects the request validators that would use it
  'AWS::ApplicationAutoScaling::*',
  'AWS::CDK::Metadata',
  'AWS::CloudWatch::*',
  'AWS::CodeDeploy::*', // a run has no deployments
  // Identities of people, machines and AWS services. Here, people use the operator's credentials.
  'AWS::IAM::AccessKey',
  'AWS::IAM::Group',
  'AWS::IAM::InstanceProfile',
  'AWS::IAM::ServiceLinkedRole',
  'AWS::IAM::User',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Logs::*',
  'AWS::SNS::*', // for alarms; functions cannot publish here
  'Custom::S3AutoDeleteObjects',
];

const hasNoEffect = (type: string): boolean =>
  WITHOUT_EFFECT.some((entry) =>
    entry.endsWith('*') ? type.startsWith(entry.slice(0, -1)) : type === entry,
  );
