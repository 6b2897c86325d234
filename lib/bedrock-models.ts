import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Stack, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

const modelId = String.raw`[a-z0-9-]+(\.[a-z0-9-]+)+(:[a-z0-9]+){0,2}`;
const resourceTypes =
  'foundation-model|inference-profile|application-inference-profile|provisioned-model|imported-model|custom-model-deployment';

/** The id of a model or of an inference profile, or an ARN; never a wildcard. */
export const bedrockModel = new RegExp(
  `^(${modelId}|arn:aws[a-z-]*:bedrock:[a-z0-9-]+:([0-9]{12})?:(${resourceTypes})/[a-zA-Z0-9.:-]+)$`,
);

/** The id of an inference profile that AWS defines: a geography and the model's id. */
const profileId = /^(?<geography>global|apac|us-gov|[a-z]{2})\.(?<model>[^.]+\..+)$/;

/**
 * The permissions that a role needs to invoke a model by Converse or ConverseStream. An inference profile also needs
 * permissions for the models that it routes to. As in AWS's documentation, these hold only for calls through the
 * profile.
 */
export function bedrockStatements(scope: Construct, model: string): PolicyStatement[] {
  const { partition, region, account } = Stack.of(scope);
  const isArn = model.startsWith('arn:');
  const id = isArn ? model.slice(model.indexOf('/') + 1) : model;
  const profile = profileId.exec(id)?.groups;
  const arnOf = (type: string) => (isArn ? model : `arn:${partition}:bedrock:${region}:${type}/${id}`);
  if (model.includes(':application-inference-profile/'))
    return [invoke(model), invokeThrough(model, `arn:${partition}:bedrock:*::foundation-model/*`)];
  if (profile === undefined || (isArn && !model.includes(':inference-profile/')))
    return [invoke(arnOf(':foundation-model'))];
  const profileArn = arnOf(`${account}:inference-profile`);
  const modelIn = (modelRegion: string) =>
    `arn:${partition}:bedrock:${modelRegion}::foundation-model/${profile.model}`;
  return [
    invoke(profileArn),
    // For a global profile AWS checks the model's ARN in the caller's Region, and then an ARN without a Region.
    profile.geography === 'global'
      ? invokeThrough(profileArn, modelIn(region), modelIn(''))
      : invokeThrough(profileArn, modelIn('*')),
  ];
}

const actions = ['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream'];

const invoke = (resource: string): PolicyStatement => new PolicyStatement({ actions, resources: [resource] });

const invokeThrough = (profile: string, ...resources: string[]): PolicyStatement =>
  new PolicyStatement({
    actions,
    resources,
    conditions: { StringEquals: { 'bedrock:InferenceProfileArn': profile } },
  });

/** Acknowledges the findings of cdk-nag about permissions for a profile's models in every Region. */
export function acknowledgeRegions(scope: Construct, models: readonly string[]): void {
  const wildcards = models
    .flatMap((model) => bedrockStatements(scope, model))
    .flatMap(({ resources }) => resources)
    .filter((resource) => resource.includes('*'));
  for (const resource of new Set(wildcards))
    Validations.of(scope).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${resource.replace(Stack.of(scope).partition, '<AWS::Partition>')}]`,
      reason:
        'AWS chooses and changes the Regions of a profile, and the model of an application profile. Only calls through that one profile are allowed.',
    });
}
