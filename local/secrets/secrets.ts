import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { openStoredValues } from '../data/state-file.ts';
import { registerKey } from '../kms/keys.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import type { TemplateResource } from '../template/template-resource.ts';
import { AwsJsonError, type AwsJsonOperation, serveAwsJson } from '../wire/serve-aws-json.ts';

interface SecretProperties {
  readonly KmsKeyId?: string;
  readonly SecretString?: string;
  readonly GenerateSecretString?: { readonly PasswordLength?: number };
}

/** At a start, a value of the options precedes one that PutSecretValue has stored. */
export const secrets: ResourceKind = {
  types: ['AWS::SecretsManager::Secret'],

  async open(resources, context) {
    const stored = await openStoredValues(context.options.dataDir, 'secrets');
    const known = new Map<string, Secret>();

    for (const resource of resources) {
      const { logicalId } = resource;
      const resolved = context.read<SecretProperties>(resource);
      const name = context.nameOf(resource, 'Name');
      // AWS appends six random characters to an ARN. These are a hash, so that they stay the same.
      const suffix = createHash('sha256').update(name).digest('hex').slice(0, 6);
      const versionsKey = `${logicalId}.versions`;
      const given = context.options.secretValues?.[logicalId];
      const put = given === undefined ? stored.get(versionsKey) : undefined;
      const first = async () =>
        given ??
        resolved.SecretString ??
        (await stored.getOrCreate(logicalId, () => generateValue(resolved)));
      const versions: Versions =
        put === undefined
          ? { AWSCURRENT: { id: 'local', value: await first(), createdAt: 0 } }
          : JSON.parse(put);
      const arn = context.arnOf('secretsmanager', `secret:${name}-${suffix}`);
      const store = (next: Versions) => stored.put(versionsKey, JSON.stringify(next));
      known.set(logicalId, { name, arn, versions, store });
      registerKey(context, arn, resolved.KmsKeyId);
    }

    const findKnown = (id: unknown) => [...known.values()].find(({ name, arn }) => id === name || id === arn);
    const find = (id: unknown): Secret => {
      const found = findKnown(id);
      if (found) return found;
      throw new AwsJsonError('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    };
    const arnOf = ({ logicalId }: TemplateResource) => known.get(logicalId)?.arn ?? '';
    const server = await serveAwsJson(secretOperations(find), context.access, (operation, { SecretId }) => [
      { action: `secretsmanager:${operation}`, resource: findKnown(SecretId)?.arn ?? String(SecretId) },
    ]);
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
  return randomBytes(length).toString('base64url').slice(0, length);
}

interface Secret {
  readonly name: string;
  readonly arn: string;
  versions: Versions;
  readonly store: (versions: Versions) => Promise<void>;
}

/** As they are stored. A version without a label is not kept. */
interface Versions {
  readonly AWSCURRENT: Version;
  readonly AWSPREVIOUS?: Version;
}

interface Version {
  readonly id: string;
  readonly value: string;
  /** Seconds since the epoch. */
  readonly createdAt: number;
}

const secretOperations = (find: (id: unknown) => Secret): Record<string, AwsJsonOperation> => ({
  GetSecretValue({ SecretId, VersionStage = 'AWSCURRENT' }) {
    const { arn, name, versions } = find(SecretId);
    const [, version] = labelled(versions).find(([label]) => label === VersionStage) ?? [];
    if (version === undefined)
      throw new AwsJsonError(
        'ResourceNotFoundException',
        `Secrets Manager can't find the specified secret value for staging label: ${VersionStage}`,
      );
    return {
      ARN: arn,
      Name: name,
      SecretString: version.value,
      VersionId: version.id,
      VersionStages: [VersionStage],
      CreatedDate: version.createdAt,
    };
  },

  ListSecretVersionIds({ SecretId }) {
    const { arn, name, versions } = find(SecretId);
    const listed = labelled(versions).map(([label, { id, createdAt }]) => ({
      VersionId: id,
      VersionStages: [label],
      CreatedDate: createdAt,
    }));
    return { ARN: arn, Name: name, Versions: listed };
  },

  async PutSecretValue({ SecretId, SecretString, VersionStages, ClientRequestToken }) {
    if (typeof SecretString !== 'string' || VersionStages !== undefined)
      throw new AwsJsonError('InvalidRequestException', 'Only a SecretString without labels can run locally');
    const secret = find(SecretId);
    const id = String(ClientRequestToken ?? randomUUID());
    secret.versions = {
      AWSCURRENT: { id, value: SecretString, createdAt: Date.now() / 1000 },
      AWSPREVIOUS: secret.versions.AWSCURRENT,
    };
    await secret.store(secret.versions);
    return { ARN: secret.arn, Name: secret.name, VersionId: id, VersionStages: ['AWSCURRENT'] };
  },
});

const labelled = (versions: Versions): [label: string, version: Version][] => Object.entries(versions);
