import { createHash, randomBytes } from 'node:crypto';
import { openStoredValues } from '../data/stored-values.ts';
import { keyArnOf } from '../kms/key-arn-of.ts';
import type { ResourceKind, TemplateResource } from '../template/resource-kind.ts';
import { AwsJsonError, type AwsJsonOperation, serveAwsJson } from '../wire/serve-aws-json.ts';

interface SecretProperties {
  readonly KmsKeyId?: string;
  readonly Name?: string;
  readonly SecretString?: string;
  readonly GenerateSecretString?: {
    readonly PasswordLength?: number;
    readonly SecretStringTemplate?: string;
    readonly GenerateStringKey?: string;
  };
}

interface Secret {
  readonly name: string;
  readonly arn: string;
  readonly value: string;
}

/** Secrets Manager, read-only. A value comes from the run's options or from the template, or is generated once. */
export const secrets: ResourceKind = {
  types: ['AWS::SecretsManager::Secret'],

  async open(resources, context) {
    const stored = await openStoredValues(context.options.dataDir, 'secrets');
    const known = new Map<string, Secret>();

    for (const { logicalId, properties } of resources) {
      const resolved = context.resolve(properties, logicalId) as SecretProperties;
      const name = resolved.Name ?? context.nameOf(logicalId);
      // AWS appends six random characters to an ARN. These are a hash of the name, so that they stay the same.
      const suffix = createHash('sha256').update(name).digest('hex').slice(0, 6);
      const value =
        context.options.secretValues?.[logicalId] ??
        resolved.SecretString ??
        (await stored.getOrCreate(logicalId, () => generateValue(resolved)));
      const arn = `arn:aws:secretsmanager:${context.region}:${context.accountId}:secret:${name}-${suffix}`;
      known.set(logicalId, { name, arn, value });
      const key = keyArnOf(resolved.KmsKeyId, context);
      if (key !== undefined) context.access.rules.encryptionKeys.set(arn, key);
    }

    const findKnown = (id: unknown) => [...known.values()].find(({ name, arn }) => id === name || id === arn);
    const find = (id: unknown): Secret => {
      const found = findKnown(id);
      if (found) return found;
      throw new AwsJsonError('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    };
    const arnOf = ({ logicalId }: TemplateResource) => known.get(logicalId)?.arn ?? '';
    const operations: Record<string, AwsJsonOperation> = {
      GetSecretValue({ SecretId }) {
        const { arn, name, value } = find(SecretId);
        return {
          ARN: arn,
          Name: name,
          SecretString: value,
          VersionId: 'local',
          VersionStages: ['AWSCURRENT'],
        };
      },
      DescribeSecret({ SecretId }) {
        const { arn, name } = find(SecretId);
        return { ARN: arn, Name: name, VersionIdsToStages: { local: ['AWSCURRENT'] } };
      },
    };
    const server = await serveAwsJson(operations, {
      rejectionOf: context.access.rejectionOf,
      rules: context.access.rules,
      needed: (operation, { SecretId }) => [
        { action: `secretsmanager:${operation}`, resource: findKnown(SecretId)?.arn ?? String(SecretId) },
      ],
    });
    context.endpoints.secretsmanager = server.endpoint;

    return {
      ref: arnOf,
      attribute: (resource, name) => (name === 'Id' ? arnOf(resource) : undefined),
      environmentFor: () => ({ AWS_ENDPOINT_URL_SECRETS_MANAGER: server.endpoint }),
      close: server.close,
    };
  },
};

function generateValue({ GenerateSecretString: rules }: SecretProperties): string {
  const length = rules?.PasswordLength ?? 32;
  const password = randomBytes(length).toString('base64url').slice(0, length);
  if (!rules?.GenerateStringKey) return password;
  const template = JSON.parse(rules.SecretStringTemplate ?? '{}') as Record<string, unknown>;
  return JSON.stringify({ ...template, [rules.GenerateStringKey]: password });
}
