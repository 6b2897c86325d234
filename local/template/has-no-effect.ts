/** Resource types that change nothing on one machine. A type that is in no list stops the start. */
const WITHOUT_EFFECT = [
  'AWS::ApiGateway::Account',
  'AWS::ApiGateway::Model', // only a request validator uses it, and those are refused
  'AWS::ApplicationAutoScaling::*',
  'AWS::CDK::Metadata',
  'AWS::CloudWatch::*',
  'AWS::CodeDeploy::*', // nothing is deployed anew during a run
  // Of people: what they do here, they do as the operator.
  'AWS::IAM::AccessKey',
  'AWS::IAM::Group',
  'AWS::IAM::InstanceProfile',
  'AWS::IAM::ServiceLinkedRole',
  'AWS::IAM::User',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Logs::*',
  'AWS::SNS::*', // only alarms publish; a function that did would find no endpoint
  'AWS::Scheduler::ScheduleGroup',
  'Custom::S3AutoDeleteObjects',
];

export function hasNoEffect(type: string): boolean {
  return WITHOUT_EFFECT.some((entry) =>
    entry.endsWith('*') ? type.startsWith(entry.slice(0, -1)) : type === entry,
  );
}
