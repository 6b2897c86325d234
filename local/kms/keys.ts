import { createHash, randomBytes } from 'node:crypto';
import { openStoredValues, type StoredValues, UnreadableState } from '../data/state-file.ts';
import type { Permission } from '../iam/access-rules.ts';
import type { RunContext } from '../run-context.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import { serveAwsJson } from '../wire/serve-aws-json.ts';
import { type Key, keyIdOf, keyOperations } from './key-operations.ts';

interface KeyProperties {
  readonly Enabled?: boolean;
  readonly KeyPolicy: unknown;
  readonly KeySpec?: string;
  readonly KeyUsage?: string;
}

// AES-256, as in KMS.
const KEY_BYTES = 32;

export const keys: ResourceKind = {
  types: ['AWS::KMS::Key'],
  // Other kinds, such as secrets, resolve references to keys while they open.
  opensFirst: true,

  async open(resources, context) {
    const materials = await openStoredValues(context.options.dataDir, 'keys');
    const idOf = (resource: TemplateResource): string => {
      const digest = createHash('sha256').update(context.nameOf(resource)).digest('hex').slice(0, 32);
      return digest.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    };
    const keyArn = (id: string) => context.arnOf('kms', `key/${id}`);
    const arnOf = (resource: TemplateResource) => keyArn(idOf(resource));
    const known = new Map<string, Key>();
    for (const resource of resources) {
      const [id, arn] = [idOf(resource), arnOf(resource)];
      const key = { id, arn, material: await openMaterial(resource, id, materials) };
      known.set(id, key).set(arn, key);
    }
    const find = (reference: string) => known.get(reference);
    const server = await serveAwsJson(keyOperations(find), context.access, (operation, input) => [
      neededPermission(operation, input, find, keyArn),
    ]);
    context.endpoints.kms = server.endpoint;

    return {
      ref: idOf,
      attribute: (resource, name) => ({ Arn: arnOf(resource), KeyId: idOf(resource) })[name],
      environmentFor: () => ({ AWS_ENDPOINT_URL_KMS: server.endpoint }),
      async start() {
        for (const resource of resources) {
          const { KeyPolicy } = context.read<KeyProperties>(resource);
          context.access.attachPolicy(arnOf(resource), KeyPolicy, resource.logicalId);
        }
      },
      close: server.close,
    };
  },
};

async function openMaterial(
  resource: TemplateResource,
  id: string,
  materials: StoredValues,
): Promise<Buffer> {
  const { Enabled, KeySpec, KeyUsage } = resource.properties as Partial<KeyProperties>;
  if (
    !(Enabled ?? true) ||
    (KeySpec ?? 'SYMMETRIC_DEFAULT') !== 'SYMMETRIC_DEFAULT' ||
    (KeyUsage ?? 'ENCRYPT_DECRYPT') !== 'ENCRYPT_DECRYPT'
  )
    reject(resource, 'only enabled, symmetric keys for encryption can run locally');
  const encoded = await materials.getOrCreate(id, () => randomBytes(KEY_BYTES).toString('base64'));
  const material = Buffer.from(encoded, 'base64');
  if (material.length !== KEY_BYTES) throw new UnreadableState(materials.file, `the key ${id} is damaged`);
  return material;
}

function neededPermission(
  operation: string,
  { KeyId, CiphertextBlob, EncryptionContext }: Readonly<Record<string, unknown>>,
  find: (reference: string) => Key | undefined,
  keyArn: (id: string) => string,
): Permission {
  const ofCiphertext =
    CiphertextBlob === undefined ? undefined : keyIdOf(Buffer.from(String(CiphertextBlob), 'base64'));
  const reference = ofCiphertext ?? String(KeyId);
  const context: Record<string, string> = {};
  for (const [name, value] of Object.entries((EncryptionContext ?? {}) as Record<string, string>))
    context[`kms:encryptioncontext:${name.toLowerCase()}`] = value;
  return { action: `kms:${operation}`, resource: find(reference)?.arn ?? keyArn(reference), context };
}

/**
 * Does nothing without a reference, and for the alias of an AWS managed key.
 * @throws Error for the alias of a customer managed key
 */
export function registerKey({ access, arnOf }: RunContext, resourceArn: string, reference: unknown): void {
  const key = String(reference);
  if (reference === undefined || /(^|:)alias\/aws\//.test(key)) return;
  if (/(^|:)alias\//.test(key)) throw new Error(`the key ${key} is not available locally by its alias`);
  const arn = key.startsWith('arn:') ? key : arnOf('kms', `key/${key}`);
  access.rules.encryptionKeys.set(resourceArn, arn);
}
