import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';

/**
 * What clients upload, apart from what the service writes for itself: other functions may read it, other rules remove
 * it, and an operator may want to look after it otherwise. No versions: an object is written once.
 */
export class FileBucket extends Bucket {
  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id, {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      lifecycleRules: [
        // An upload in parts that nobody finishes is invisible and billed; none takes longer than a function's 15 minutes.
        { abortIncompleteMultipartUploadAfter: Duration.days(1) },
        // Ephemeral files, and files whose upload was cut off before the service knew of them. A tag, and no prefix,
        // since a form may tell its scope behind the file, when the object has its key already.
        { tagFilters: { kept: 'no' }, expiration: Duration.days(1) },
      ],
      removalPolicy: removalPolicyOf(settings),
      // CloudFormation deletes no bucket that has objects.
      autoDeleteObjects: !settings.production,
    });
    pinLogicalId(this, 'FileBucket');
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Objects are reached by the service and by addresses of fifteen minutes that it signs, and its own log lines tell which request did; CloudTrail data events are there for those who must record more.',
    });
  }
}
