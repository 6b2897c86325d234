import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { DecryptCommand, EncryptCommand, KMSClient } from '@aws-sdk/client-kms';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type BackgroundRun, clientOptions, startBackground } from './fixture/start-background.ts';
import { makeDataDir } from './fixture/start-fixture.ts';

let dataDir: string;
let run: BackgroundRun;
let kms: KMSClient;

async function start(): Promise<void> {
  run = await startBackground({ dataDir });
  kms = new KMSClient(clientOptions(run.endpoints.kms));
}

beforeAll(async () => {
  dataDir = await makeDataDir();
  await start();
});
afterAll(async () => {
  await run.close();
  await rm(dataDir, { recursive: true, force: true });
});

const encrypt = async (text: string, EncryptionContext?: Record<string, string>, KeyId = run.ref('Key')) =>
  (await kms.send(new EncryptCommand({ KeyId, Plaintext: Buffer.from(text), EncryptionContext })))
    .CiphertextBlob;
const decrypt = async (
  CiphertextBlob: Uint8Array | undefined,
  EncryptionContext?: Record<string, string>,
  KeyId?: string,
) => {
  const { Plaintext } = await kms.send(new DecryptCommand({ CiphertextBlob, EncryptionContext, KeyId }));
  return Buffer.from(Plaintext ?? []).toString();
};

describe('a key', () => {
  it('decrypts what it encrypted, in the same context only, in whatever order', async () => {
    const ciphertext = await encrypt('secret', { tenant: 'a', use: 'b' });
    expect(Buffer.from(ciphertext ?? []).includes('secret')).toBe(false);
    expect(await decrypt(ciphertext, { use: 'b', tenant: 'a' })).toBe('secret');
    for (const context of [undefined, { tenant: 'a' }, { tenant: 'a', use: 'c' }]) {
      await expect(decrypt(ciphertext, context)).rejects.toMatchObject({
        name: 'InvalidCiphertextException',
      });
    }
  });

  it('refuses a ciphertext of which a byte is another, or that is none', async () => {
    const ciphertext = Buffer.from((await encrypt('secret')) ?? []);
    for (const index of ciphertext.keys()) {
      const changed = Buffer.from(ciphertext);
      changed[index] = (changed[index] ?? 0) ^ 1;
      await expect(decrypt(changed), `byte ${index}`).rejects.toMatchObject({
        name: 'InvalidCiphertextException',
      });
    }
    await expect(decrypt(Buffer.from('x'))).rejects.toMatchObject({ name: 'InvalidCiphertextException' });
  });

  it('is found by id and ARN, and no other', async () => {
    const arn = `arn:aws:kms:us-east-1:000000000000:key/${run.ref('Key')}`;
    const ciphertext = await encrypt('by ARN', undefined, arn);
    expect(await decrypt(ciphertext, undefined, run.ref('Key'))).toBe('by ARN');
    await expect(encrypt('x', undefined, 'another')).rejects.toMatchObject({ name: 'NotFoundException' });
    await expect(encrypt('x'.repeat(4097))).rejects.toMatchObject({ name: 'ValidationException' });
  });

  it('is used from a function by a client without options', async () => {
    const { SQSClient, SendMessageCommand } = await import('@aws-sdk/client-sqs');
    run.script('Simple', () => ({
      calls: [{ service: 'kms', operation: 'Encrypt', input: { KeyId: run.ref('Key'), Plaintext: [120] } }],
    }));
    const sqs = new SQSClient(clientOptions(run.endpoints.sqs));
    await sqs.send(new SendMessageCommand({ QueueUrl: run.ref('Plain'), MessageBody: 'x' }));
    await vi.waitFor(() => expect(run.events('Simple')).toHaveLength(1), 60_000);
    expect(run.logs).toEqual([]);
  });

  it('stays over a restart, where only the owner reads it', async () => {
    const ciphertext = await encrypt('kept', { tenant: 'a' });
    await run.close();
    await start();
    expect(await decrypt(ciphertext, { tenant: 'a' })).toBe('kept');
    expect((await stat(path.join(dataDir, 'keys.json'))).mode & 0o777).toBe(0o600);
  });
});
