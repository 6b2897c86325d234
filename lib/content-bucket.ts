import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';

/**
 * What is too large for an item of the table. No versions: an object is written once, under a key of its own, and only
 * deleted by the request that wrote it.
 */
export class ContentBucket extends Bucket {
  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id, {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      // An upload in parts that nobody finishes is invisible and billed; none takes longer than the 15 minutes of a function.
      lifecycleRules: [
        { abortIncompleteMultipartUploadAfter: Duration.days(1) },
        // What was read from ephemeral files, which are gone after a day.
        { prefix: 'attachments/ephemeral/', expiration: Duration.days(1) },
      ],
      removalPolicy: removalPolicyOf(settings),
      // CloudFormation deletes no bucket that has objects.
      autoDeleteObjects: !settings.production,
    });
    pinLogicalId(this, 'ContentBucket');
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Only the service reads and writes objects, and its own log lines tell which request did; CloudTrail data events are there for those who must record more.',
    });
  }
}
