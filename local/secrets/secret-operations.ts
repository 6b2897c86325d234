import { randomUUID } from 'node:crypto';
import { AwsJsonError, type AwsJsonOperation } from '../wire/serve-aws-json.ts';

export interface Secret {
  readonly name: string;
  readonly arn: string;
  versions: Versions;
  /** Stores versions for the next start. */
  readonly store: (versions: Versions) => Promise<void>;
}

/** The versions of a secret that have a label, as they are stored. AWS deletes versions without a label. */
export interface Versions {
  readonly AWSCURRENT: Version;
  readonly AWSPREVIOUS?: Version;
}

interface Version {
  readonly id: string;
  readonly value: string;
  /** Seconds since the epoch. */
  readonly createdAt: number;
}

/** A value that the run's options or the template give, or that was generated. */
export const firstVersion = (value: string): Versions => ({
  AWSCURRENT: { id: 'local', value, createdAt: 0 },
});

/** The operations of Secrets Manager. `find` finds a secret by name or ARN. */
export const secretOperations = (find: (id: unknown) => Secret): Record<string, AwsJsonOperation> => ({
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

  // Without labels in the request, the new value becomes the current one, and the current one the previous one.
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
