/** Resource types without an effect on one machine. The start fails for types outside of this list and of all kinds. */
const WITHOUT_EFFECT = [
  'AWS::ApiGateway::Account',
  'AWS::ApiGateway::Model', // only request validators use it, and the runner rejects those
  'AWS::ApplicationAutoScaling::*',
  'AWS::CDK::Metadata',
  'AWS::CloudWatch::*',
  'AWS::CodeDeploy::*', // a run has no deployments
  // Identities of people, who use the operator's credentials here.
  'AWS::IAM::AccessKey',
  'AWS::IAM::Group',
  'AWS::IAM::InstanceProfile',
  'AWS::IAM::ServiceLinkedRole',
  'AWS::IAM::User',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Logs::*',
  'AWS::SNS::*', // only alarms publish; a function that publishes would find no endpoint
  'Custom::S3AutoDeleteObjects',
];

export function hasNoEffect(type: string): boolean {
  return WITHOUT_EFFECT.some((entry) =>
    entry.endsWith('*') ? type.startsWith(entry.slice(0, -1)) : type === entry,
  );
}
