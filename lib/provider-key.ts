import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';

/** A secret for a provider's API key. Its first value is random; an operator replaces it with the key. */
export function createProviderKey(
  scope: Construct,
  id: string,
  { description, production }: { description: string; production: boolean },
): Secret {
  const secret = new Secret(scope, id, {
    description,
    removalPolicy: removalPolicyOf({ production }),
  });
  pinLogicalId(secret, id);
  Validations.of(secret).acknowledge({
    id: 'AwsSolutions-SMG4',
    reason: 'The provider issues the key, so only an operator can replace it.',
  });
  return secret;
}
