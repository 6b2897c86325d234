import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com');

/** Where alarms tell that they have gone off. Encrypted by a key of its own: AWS's key for topics lets no alarm publish. */
export class AlarmTopic extends Topic {
  constructor(scope: Construct, id: string, { emails }: { emails: readonly string[] }) {
    const key = new Key(scope, `${id}Key`, {
      description: 'Encrypts what alarms tell',
      enableKeyRotation: true,
      // It keeps nothing: a message is gone once it is delivered.
      removalPolicy: RemovalPolicy.DESTROY,
      pendingWindow: Duration.days(7),
    });
    key.addToResourcePolicy(
      new PolicyStatement({
        principals: [cloudWatch],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey', 'kms:GenerateDataKeyWithoutPlaintext'],
        // In a key's policy, the key itself.
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
