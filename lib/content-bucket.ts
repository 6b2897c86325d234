import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';

/**
 * Content that is too large for an item of the table. No versioning: an object is written once, under a unique key, and
 * only the request that wrote it deletes it.
 */
export class ContentBucket extends Bucket {
  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id, {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      // An unfinished multipart upload is invisible and billed. An upload takes at most 15 minutes, a function's
      // timeout.
      lifecycleRules: [
        { abortIncompleteMultipartUploadAfter: Duration.days(1) },
        // Text and images extracted from ephemeral files, which themselves expire after a day.
        { prefix: 'attachments/ephemeral/', expiration: Duration.days(1) },
      ],
      removalPolicy: removalPolicyOf(settings),
      // CloudFormation cannot delete a bucket that has objects.
      autoDeleteObjects: !settings.production,
    });
    pinLogicalId(this, 'ContentBucket');
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Only the service reads and writes objects, and it logs each of its requests. An operator who must record more can use CloudTrail data events.',
    });
  }
}
