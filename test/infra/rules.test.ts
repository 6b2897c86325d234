import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, test } from 'vitest';
import { createService, synthesize } from './synthesize.ts';

test.each(['production', 'development', 'local'])(
  '%s breaks no rule of cdk-nag that is not acknowledged',
  (stage) => {
    const { app } = createService({ stage });
    expect(new AwsSolutionsChecks(app).validateScope(app).violations).toEqual([]);
  },
);

test('the rules are looked at: without its acknowledgements the stack breaks some', () => {
  const { app } = createService();
  for (const construct of app.node.findAll()) Reflect.set(construct.node, '_metadata', []);
  const broken = new AwsSolutionsChecks(app).validateScope(app).violations.map(({ ruleName }) => ruleName);
  expect(broken.toSorted()).toEqual([
    'AwsSolutions-APIG2',
    'AwsSolutions-APIG3',
    'AwsSolutions-COG4',
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
    'AwsSolutions-IAM5[Resource::<ContentBucket.Arn>/*]',
    'AwsSolutions-IAM5[Resource::<FileBucket.Arn>/*]',
    'AwsSolutions-S1',
    'AwsSolutions-SMG4',
  ]);
});

test('a production stack cannot be deleted by mistake', () => {
  expect(createService().stack.terminationProtection).toBe(true);
  expect(createService({ stage: 'development' }).stack.terminationProtection).toBe(false);
  expect(synthesize().template.toJSON()).toHaveProperty('Description');
});
