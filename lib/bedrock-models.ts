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

/** Profiles that AWS defines are named after the model, behind where it may be routed to. */
const profileId = /^(?<where>global|apac|us-gov|[a-z]{2})\.(?<model>[^.]+\..+)$/;

/**
 * What a role needs to invoke a model by Converse, streamed or not. An inference profile needs also the models that it
 * routes to, which AWS's documentation grants under the condition that they are reached through the profile.
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
  const modelIn = (where: string) => `arn:${partition}:bedrock:${where}::foundation-model/${profile.model}`;
  return [
    invoke(profileArn),
    // A global profile's model is asked for here, and then in a Region that has no name.
    profile.where === 'global'
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

/** Says to cdk-nag why the models behind a profile are granted in every Region. */
export function acknowledgeRegions(scope: Construct, models: readonly string[]): void {
  const wildcards = models
    .flatMap((model) => bedrockStatements(scope, model))
    .flatMap(({ resources }) => resources)
    .filter((resource) => resource.includes('*'));
  for (const resource of new Set(wildcards))
    Validations.of(scope).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${resource.replace(Stack.of(scope).partition, '<AWS::Partition>')}]`,
      reason:
        'AWS chooses and changes the Regions, and behind an application profile the model; only calls through that one profile are allowed.',
    });
}
