import { createHash, randomBytes } from 'node:crypto';
import path from 'node:path';
import { UnreadableState } from '../data/state-file.ts';
import { openStoredValues } from '../data/stored-values.ts';
import type { RunContext } from '../run-context.ts';
import type { ResourceKind, TemplateResource } from '../template/resource-kind.ts';
import { serveAwsJson } from '../wire/serve-aws-json.ts';
import { keyIdOf } from './ciphertext.ts';
import { type Key, keyOperations } from './key-operations.ts';

interface KeyProperties {
  readonly Enabled?: boolean;
  readonly KeyPolicy?: unknown;
  readonly KeySpec?: string;
  readonly KeyUsage?: string;
}

interface AliasProperties {
  readonly AliasName: string;
  readonly TargetKeyId: string;
}

const KEY = 'AWS::KMS::Key';

// AES-256, as in KMS.
const KEY_BYTES = 32;

/** KMS: symmetric keys. Their key material is stored in the data folder. */
export const keys: ResourceKind = {
  types: [KEY, 'AWS::KMS::Alias'],
  // Tables, queues and secrets may refer to the key that encrypts them.
  opensFirst: true,

  async open(resources, context) {
    const stored = await openStoredValues(context.options.dataDir, 'keys');
    const idOf = ({ logicalId }: TemplateResource): string => {
      const digest = createHash('sha256').update(context.nameOf(logicalId)).digest('hex').slice(0, 32);
      return digest.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    };
    const arnOf = (resource: TemplateResource) =>
      `arn:aws:kms:${context.region}:${context.accountId}:key/${idOf(resource)}`;
    const aliasOf = ({ logicalId, properties }: TemplateResource): string =>
      String(context.resolve(properties.AliasName, logicalId));

    const known = new Map<string, Key>();
    for (const resource of resources.filter(({ type }) => type === KEY)) {
      const { logicalId, type, properties } = resource;
      const { Enabled, KeySpec, KeyUsage } = properties as KeyProperties;
      if (
        (KeySpec ?? 'SYMMETRIC_DEFAULT') !== 'SYMMETRIC_DEFAULT' ||
        (KeyUsage ?? 'ENCRYPT_DECRYPT') !== 'ENCRYPT_DECRYPT'
      ) {
        throw new Error(`${logicalId} (${type}): only symmetric keys for encryption can run locally`);
      }
      const id = idOf(resource);
      const encoded = await stored.getOrCreate(id, () => randomBytes(KEY_BYTES).toString('base64'));
      const material = Buffer.from(encoded, 'base64');
      if (material.length !== KEY_BYTES)
        throw new UnreadableState(
          path.join(context.options.dataDir, 'keys.json'),
          `the key ${id} is damaged`,
        );
      const key = { id, arn: arnOf(resource), enabled: Enabled ?? true, material };
      known.set(id, key).set(key.arn, key);
    }
    const find = (reference: string) => known.get(reference);
    const server = await serveAwsJson(keyOperations(find), {
      rejectionOf: context.access.rejectionOf,
      rules: context.access.rules,
      needed(operation, { KeyId, CiphertextBlob, EncryptionContext }) {
        const reference =
          CiphertextBlob === undefined
            ? String(KeyId)
            : (keyIdOf(Buffer.from(String(CiphertextBlob), 'base64')) ?? String(KeyId));
        const entries = Object.entries((EncryptionContext ?? {}) as Record<string, string>);
        return [
          {
            action: `kms:${operation}`,
            resource:
              find(reference)?.arn ?? `arn:aws:kms:${context.region}:${context.accountId}:key/${reference}`,
            context: Object.fromEntries(
              entries.map(([name, value]) => [`kms:encryptioncontext:${name.toLowerCase()}`, value]),
            ),
          },
        ];
      },
    });
    context.endpoints.kms = server.endpoint;

    return {
      ref: (resource) => (resource.type === KEY ? idOf(resource) : aliasOf(resource)),
      attribute: (resource, name) =>
        resource.type === KEY ? { Arn: arnOf(resource), KeyId: idOf(resource) }[name] : undefined,
      environmentFor: () => ({ AWS_ENDPOINT_URL_KMS: server.endpoint }),
      async start() {
        for (const resource of resources.filter(({ type }) => type === KEY)) {
          const { KeyPolicy } = context.resolve(resource.properties, resource.logicalId) as KeyProperties;
          context.access.attachPolicy(
            arnOf(resource),
            KeyPolicy ?? defaultPolicy(context),
            resource.logicalId,
          );
        }
        for (const resource of resources.filter(({ type }) => type !== KEY)) {
          const { TargetKeyId } = context.resolve(resource.properties, resource.logicalId) as AliasProperties;
          const key = known.get(TargetKeyId);
          if (!key)
            throw new Error(
              `${resource.logicalId} (${resource.type}): no key ${TargetKeyId} in the template`,
            );
          const alias = aliasOf(resource);
          known.set(alias, key).set(`arn:aws:kms:${context.region}:${context.accountId}:${alias}`, key);
        }
      },
      close: server.close,
    };
  },
};

/** KMS's default key policy: it delegates all decisions to the account's policies. */
const defaultPolicy = ({ accountId }: Pick<RunContext, 'accountId'>) => ({
  Statement: {
    Effect: 'Allow',
    Principal: { AWS: `arn:aws:iam::${accountId}:root` },
    Action: 'kms:*',
    Resource: '*',
  },
});
