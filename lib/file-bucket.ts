import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';

/**
 * The files that clients upload. They are not in the content bucket, because other functions may read them, other rules
 * expire them, and an operator may want to manage them differently. No versioning: an object is written once.
 */
export class FileBucket extends Bucket {
  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id, {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      lifecycleRules: [
        // An unfinished multipart upload is invisible and billed. An upload takes at most 15 minutes, the function's
        // timeout.
        { abortIncompleteMultipartUploadAfter: Duration.days(1) },
        // Expires ephemeral files, and files whose upload was interrupted before the service recorded them. A tag and
        // not a prefix marks them: in an upload's form, the scope may come after the file, when the object already has
        // its key.
        { tagFilters: { kept: 'no' }, expiration: Duration.days(1) },
      ],
      removalPolicy: removalPolicyOf(settings),
      // CloudFormation cannot delete a bucket that has objects.
      autoDeleteObjects: !settings.production,
    });
    pinLogicalId(this, 'FileBucket');
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Only the service and presigned addresses, valid for fifteen minutes, reach objects. The service logs each of its requests. An operator who must record more can use CloudTrail data events.',
    });
  }
}
