import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { CfnOutput, RemovalPolicy, type Stack, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { entryPointsOfChats } from './chat-routes.ts';
import { allOf, type Need, nothing, readsSecrets, variable } from './needs.ts';
import type { Settings } from './settings.ts';

export type OriginSecrets = ReturnType<typeof createOriginSecrets>;

export class Trust {
  readonly originSecrets: OriginSecrets | undefined;
  readonly checksOrigin: Need = nothing;
  readonly signsCallers: Need = nothing;

  constructor(stack: Stack, settings: Settings) {
    if (settings.webFunctions !== 'none') {
      this.originSecrets = createOriginSecrets(stack, settings.originSecretGeneration);
      this.checksOrigin = readsSecrets('originSecrets', ...this.originSecrets.accepted);
    }
    if (!entryPointsOfChats(settings).webFunction) return;
    const callerSecret = createSecret(
      stack,
      'CallerSecret',
      'Signs the callers that the authorizer tells the web function',
      'The command "agentctl secrets rotate caller" rotates it: a schedule could rotate twice within the time of the caches.',
    );
    this.signsCallers = allOf(
      readsSecrets('callerSecret', callerSecret),
      variable('authorizerCacheSeconds', settings.authorizerCacheSeconds),
    );
    new CfnOutput(stack, 'CallerSecretArn', { value: callerSecret.secretArn });
    new CfnOutput(stack, 'AuthorizerCacheSeconds', { value: String(settings.authorizerCacheSeconds) });
  }
}

/**
 * The origins also accept the generations next to the sent one, so that a deployment or a rollback by one may update
 * its resources in any order (docs/decisions/022-rotation.md).
 */
function createOriginSecrets(scope: Construct, generation: number) {
  const create = (of: number) =>
    createSecret(
      scope,
      of === 1 ? 'OriginSecret' : `OriginSecret${of}`,
      'Authenticates the distribution to its origins',
      'The setting originSecretGeneration rotates it: the distribution gets a value at deployment.',
    );
  const sent = create(generation);
  const others = [generation - 1, generation + 1].filter((other) => other > 0).map(create);
  return { sent, accepted: [sent, ...others] };
}

function createSecret(scope: Construct, id: string, description: string, rotation: string): Secret {
  const secret = new Secret(scope, id, {
    description,
    // Never change these options: CloudFormation would then put another value into every secret.
    generateSecretString: { passwordLength: 43, excludePunctuation: true },
    removalPolicy: RemovalPolicy.DESTROY,
  });
  Validations.of(secret).acknowledge({ id: 'AwsSolutions-SMG4', reason: rotation });
  return secret;
}
