import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, test } from 'vitest';
import { createService, domain } from './synthesize.ts';

// app.test.ts looks at production with everything that settings can add.
test.each([
  [
    'production',
    {
      ...{ domain, firewall: {}, alarmEmails: ['someone@example.com'], webFunctions: 'none' },
      corsOrigins: ['https://a.example'],
    },
  ],
  ['development', {}],
])('%s with %j breaks no rule of cdk-nag that is not acknowledged', (stage, settings) => {
  const { app, stack } = createService({ stage, settings });
  expect(new AwsSolutionsChecks(app).validateScope(app).violations).toEqual([]);
  // A production stack cannot be deleted by mistake.
  expect(stack.terminationProtection).toBe(stage === 'production');
});

test('the rules are looked at: without its acknowledgements the stack breaks some', () => {
  const { app } = createService({ settings: {} });
  for (const construct of app.node.findAll()) Reflect.set(construct.node, '_metadata', []);
  const broken = new AwsSolutionsChecks(app).validateScope(app).violations.map(({ ruleName }) => ruleName);
  const withoutHash = broken.map((rule) => rule.replace(/[0-9A-F]{8}(?=\.(Arn|Name)>)/, ''));
  expect(withoutHash.toSorted()).toEqual([
    'AwsSolutions-APIG2',
    'AwsSolutions-APIG3',
    'AwsSolutions-CFR1',
    'AwsSolutions-CFR2',
    'AwsSolutions-CFR3',
    'AwsSolutions-CFR4',
    'AwsSolutions-COG4',
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]',
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
    'AwsSolutions-IAM5[Action::s3:Abort*]',
    'AwsSolutions-IAM5[Action::s3:DeleteObject*]',
    'AwsSolutions-IAM5[Resource::*]',
    'AwsSolutions-IAM5[Resource::<AWSCDKWebFunctionAssetBucket.Arn>/web-function/*]',
    'AwsSolutions-IAM5[Resource::<ContentBucket.Arn>/*]',
    'AwsSolutions-IAM5[Resource::<FileBucket.Arn>/*]',
    'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:<ReceiveUploadsLogs>.local:*]',
    'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:<ServeChatsLogs>.local:*]',
    'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-<AWS::Region>/*]',
    'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:<BatchesMachine.Name>:*]',
    'AwsSolutions-S1',
    'AwsSolutions-SMG4',
    'AwsSolutions-SQS3',
  ]);
});
