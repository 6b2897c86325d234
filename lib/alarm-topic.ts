import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com');

/**
 * The topic that alarms notify. It has its own KMS key, because CloudWatch alarms cannot use AWS's managed key for SNS.
 */
export class AlarmTopic extends Topic {
  constructor(scope: Construct, id: string, { emails }: { emails: readonly string[] }) {
    const key = new Key(scope, `${id}Key`, {
      description: 'Encrypts the notifications of alarms',
      enableKeyRotation: true,
      // No stored data needs the key: SNS deletes a message after its delivery.
      removalPolicy: RemovalPolicy.DESTROY,
      pendingWindow: Duration.days(7),
    });
    key.addToResourcePolicy(
      new PolicyStatement({
        principals: [cloudWatch],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey', 'kms:GenerateDataKeyWithoutPlaintext'],
        // In a key policy, `*` means this key.
        resources: ['*'],
      }),
    );
    super(scope, id, { displayName: Stack.of(scope).stackName, enforceSSL: true, masterKey: key });
    const { partition, region, account } = Stack.of(this);
    this.addToResourcePolicy(
      new PolicyStatement({
        principals: [cloudWatch],
        actions: ['sns:Publish'],
        resources: [this.topicArn],
        conditions: {
          ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:*` },
          StringEquals: { 'aws:SourceAccount': account },
        },
      }),
    );
    for (const email of emails) this.addSubscription(new EmailSubscription(email));
  }
}
