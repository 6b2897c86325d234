import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Stack, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

const modelId = String.raw`[a-z0-9-]+(\.[a-z0-9-]+)+(:[a-z0-9]+){0,2}`;
const resourceTypes =
  'foundation-model|inference-profile|application-inference-profile|provisioned-model|imported-model|custom-model-deployment';

export const bedrockModel = new RegExp(
  `^(${modelId}|arn:aws[a-z-]*:bedrock:[a-z0-9-]+:([0-9]{12})?:(${resourceTypes})/[a-zA-Z0-9.:-]+)$`,
);

const profileId = /^(?<geography>global|apac|us-gov|[a-z]{2})\.(?<model>[^.]+\..+)$/;

function invocableOf(scope: Construct, model: string) {
  const { partition, region, account } = Stack.of(scope);
  const isArn = model.startsWith('arn:');
  const id = isArn ? model.slice(model.indexOf('/') + 1) : model;
  const profile = profileId.exec(id)?.groups;
  const arnOf = (type: string) => (isArn ? model : `arn:${partition}:bedrock:${region}:${type}/${id}`);
  if (model.includes(':application-inference-profile/'))
    return { arn: model, routesTo: [`arn:${partition}:bedrock:*::foundation-model/*`] };
  if (profile === undefined || (isArn && !model.includes(':inference-profile/')))
    return { arn: arnOf(':foundation-model'), routesTo: [] };
  const modelIn = (modelRegion: string) =>
    `arn:${partition}:bedrock:${modelRegion}::foundation-model/${profile.model}`;
  return {
    arn: arnOf(`${account}:inference-profile`),
    // For a global profile AWS checks the model's ARN in the caller's Region, and then an ARN without a Region.
    routesTo: profile.geography === 'global' ? [modelIn(region), modelIn('')] : [modelIn('*')],
  };
}

/**
 * An inference profile also needs permissions for the models that it routes to. The first statement limits which
 * profiles the role may use. The condition does not list them again, because all inline policies of a role together may
 * have at most 10,240 characters.
 */
export function bedrockStatements(scope: Construct, models: readonly string[]): PolicyStatement[] {
  const invocable = models.map((model) => invocableOf(scope, model));
  const actions = ['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream'];
  return [
    { actions, resources: invocable.map(({ arn }) => arn) },
    {
      actions,
      resources: [...new Set(invocable.flatMap(({ routesTo }) => routesTo))],
      // The condition is met if the request has this key, as calls through a profile do.
      conditions: { Null: { 'bedrock:InferenceProfileArn': 'false' } },
    },
  ]
    .filter(({ resources }) => resources.length > 0)
    .map((statement) => new PolicyStatement(statement));
}

export function acknowledgeRegions(scope: Construct, models: readonly string[]): void {
  const wildcards = bedrockStatements(scope, models)
    .flatMap(({ resources }) => resources)
    .filter((resource) => resource.includes('*'));
  for (const resource of new Set(wildcards))
    Validations.of(scope).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${resource.replace(Stack.of(scope).partition, '<AWS::Partition>')}]`,
      reason:
        'AWS chooses and changes the Regions of a profile, and the model of an application profile. Only calls through that one profile are allowed.',
    });
}
