import {
  Annotations,
  App,
  CloudFormationValidatePlugin,
  type IPolicyValidationPlugin,
  Validations,
} from 'aws-cdk-lib/core';
import { bundleFunctions } from '#lib/bundles/function-bundles.ts';
import { DistributionAlarms } from '#lib/distribution-alarms.ts';
import { cloudFrontRegion, FirewallStack } from '#lib/firewall.ts';
import { ServiceStack } from '#lib/service-stack.ts';
import { WrongSettings } from '#lib/settings/describe-issues.ts';
import { operatorWarnings } from '#lib/settings.ts';
import { readStage, type Stage } from '#lib/stage.ts';
import configuration from '../cdk.json' with { type: 'json' };

const app = new App({
  // For a run without the CDK CLI, which would read the context of cdk.json.
  context: configuration.context,
  analyticsReporting: false,
  builtinCloudFormationValidation: false,
});
const stage = readStageOrExit();
const bundles = await bundleFunctions();
const service = new ServiceStack(app, 'AgentService', { stage, bundles });
for (const [id, warning] of Object.entries(operatorWarnings(stage.settings)))
  Annotations.of(service).addWarningV2(`agent-service:${id}`, warning);
const { firewall } = stage.settings;
const hasDistribution = stage.settings.webFunctions !== 'none';
if (firewall !== undefined && hasDistribution)
  service.addStackDependency(new FirewallStack(app, 'Firewall', { stage, firewall }));
// The CDK CLI sets CDK_DEFAULT_REGION, for example from AWS_REGION.
const { CDK_DEFAULT_REGION: region } = process.env;
if (hasDistribution && region !== undefined && region !== cloudFrontRegion)
  new DistributionAlarms(app, 'DistributionAlarms', { stage, service, region });
// A local run leaves out the checks, which take seconds.
if (app.node.tryGetContext('unchecked') === undefined) {
  // A deferred import, because it takes time.
  const { AwsSolutionsChecks } = await import('cdk-nag');
  Validations.of(app).addPlugins(
    // The types of the library's optional members do not fit exactOptionalPropertyTypes.
    new CloudFormationValidatePlugin() as IPolicyValidationPlugin,
    new AwsSolutionsChecks(app),
  );
}
app.synth();

/** Wrong settings are the operator's mistake, so no stack trace is printed. */
function readStageOrExit(): Stage {
  try {
    return readStage(app.node);
  } catch (error) {
    if (!(error instanceof WrongSettings)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
