import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  DecryptCommand,
  DescribeKeyCommand,
  EncryptCommand,
  GenerateDataKeyCommand,
  GenerateDataKeyWithoutPlaintextCommand,
  KMSClient,
} from '@aws-sdk/client-kms';
import {
  GetParameterCommand,
  GetParametersCommand,
  PutParameterCommand,
  SSMClient,
} from '@aws-sdk/client-ssm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { changeAssembly } from './fixture/change-assembly.ts';
import { type BackgroundRun, clientOptions, startBackground } from './fixture/start-background.ts';
import { makeDataDir } from './fixture/start-fixture.ts';

const folders: string[] = [];
let dataDir: string;
let run: BackgroundRun;
let kms: KMSClient;
let ssm: SSMClient;

async function start(assembly?: string): Promise<void> {
  run = await startBackground({ dataDir, ...(assembly !== undefined && { assembly }) });
  kms = new KMSClient(clientOptions(run.endpoints.kms));
  ssm = new SSMClient(clientOptions(run.endpoints.ssm));
}

beforeAll(async () => {
  dataDir = await makeDataDir();
  await start();
});
afterAll(async () => {
  await run.close();
  await Promise.all([dataDir, ...folders].map((folder) => rm(folder, { recursive: true, force: true })));
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

  it('is found by id, ARN and alias, and no other', async () => {
    const { KeyMetadata } = await kms.send(new DescribeKeyCommand({ KeyId: 'alias/fixture' }));
    expect(KeyMetadata).toMatchObject({ KeyId: run.ref('Key'), KeyState: 'Enabled' });
    const ciphertext = await encrypt('by alias', undefined, 'alias/fixture');
    expect(await decrypt(ciphertext, undefined, KeyMetadata?.Arn)).toBe('by alias');
    await expect(encrypt('x', undefined, 'alias/other')).rejects.toMatchObject({ name: 'NotFoundException' });
    await expect(encrypt('x', undefined, run.ref('Locked'))).rejects.toMatchObject({
      name: 'DisabledException',
    });
    await expect(encrypt('x'.repeat(4097))).rejects.toMatchObject({ name: 'ValidationException' });
  });

  it('makes data keys', async () => {
    const EncryptionContext = { tenant: 'a' };
    const request = { KeyId: run.ref('Key'), EncryptionContext };
    const given = await kms.send(new GenerateDataKeyCommand({ ...request, KeySpec: 'AES_256' }));
    expect(given.Plaintext).toHaveLength(32);
    const { Plaintext } = await kms.send(
      new DecryptCommand({ CiphertextBlob: given.CiphertextBlob, EncryptionContext }),
    );
    expect(Plaintext).toEqual(given.Plaintext);
    const hidden = await kms.send(
      new GenerateDataKeyWithoutPlaintextCommand({ ...request, NumberOfBytes: 64 }),
    );
    expect(hidden).not.toHaveProperty('Plaintext');
    const shown = await kms.send(
      new DecryptCommand({ CiphertextBlob: hidden.CiphertextBlob, EncryptionContext }),
    );
    expect(shown.Plaintext).toHaveLength(64);
    await expect(kms.send(new GenerateDataKeyCommand(request))).rejects.toMatchObject({
      name: 'ValidationException',
    });
  });

  it('stays over a restart, where only the owner reads it', async () => {
    const ciphertext = await encrypt('kept', { tenant: 'a' });
    await run.close();
    await start();
    expect(await decrypt(ciphertext, { tenant: 'a' })).toBe('kept');
    expect((await stat(path.join(dataDir, 'keys.json'))).mode & 0o777).toBe(0o600);
  });
});

const parameter = async (Name: string) => (await ssm.send(new GetParameterCommand({ Name }))).Parameter;

describe('a parameter', () => {
  it('has the value of the template, with references in it', async () => {
    const { KeyMetadata } = await kms.send(new DescribeKeyCommand({ KeyId: run.ref('Key') }));
    expect(await parameter('/fixture/parameter')).toMatchObject({
      Name: '/fixture/parameter',
      ARN: 'arn:aws:ssm:us-east-1:000000000000:parameter/fixture/parameter',
      Type: 'String',
      Value: KeyMetadata?.Arn,
      Version: 1,
      LastModifiedDate: expect.any(Date),
    });
    expect(run.outputs.ParameterName).toBe('/fixture/parameter');
    const { ARN } = (await parameter(run.ref('Nameless'))) ?? {};
    expect(await parameter(ARN ?? '')).toMatchObject({ Name: run.ref('Nameless'), Value: 'as it was' });
  });

  it('is read with others, and what is not there is named', async () => {
    const Names = ['/fixture/parameter', 'elsewhere'];
    const { Parameters, InvalidParameters } = await ssm.send(new GetParametersCommand({ Names }));
    expect(Parameters?.map(({ Name }) => Name)).toEqual(['/fixture/parameter']);
    expect(InvalidParameters).toEqual(['elsewhere']);
    await expect(parameter('elsewhere')).rejects.toMatchObject({ name: 'ParameterNotFound' });
  });

  it('keeps what is put over a restart, until the template says something new', async () => {
    const Name = run.ref('Nameless');
    const put = (Value: string, Overwrite: boolean) =>
      ssm.send(new PutParameterCommand({ Name, Value, Overwrite }));
    await expect(put('changed', false)).rejects.toMatchObject({ name: 'ParameterAlreadyExists' });
    expect((await put('changed', true)).Version).toBe(2);
    await ssm.send(new PutParameterCommand({ Name: 'own', Value: 'one,two', Type: 'StringList' }));
    await run.close();
    await start();
    expect(await parameter(Name)).toMatchObject({ Value: 'changed', Version: 2, Type: 'String' });
    expect(await parameter('own')).toMatchObject({ Value: 'one,two', Type: 'StringList' });
    await run.close();
    const assembly = await changeAssembly('Background', (resources) => {
      const [entry] = Object.entries(resources).filter(([id]) => id.startsWith('Nameless'));
      Object.assign(entry?.[1].Properties ?? {}, { Value: 'said anew' });
    });
    folders.push(assembly);
    await start(assembly);
    expect(await parameter(Name)).toMatchObject({ Value: 'said anew', Version: 3 });
  });

  it('is reached from a function by clients without options, as keys are', async () => {
    run.script('Simple', () => ({
      calls: [
        { service: 'ssm', operation: 'GetParameter', input: { Name: '/fixture/parameter' } },
        { service: 'kms', operation: 'DescribeKey', input: { KeyId: 'alias/fixture' } },
        { service: 'ssm', operation: 'PutParameter', input: { Name: 'done', Value: 'yes', Type: 'String' } },
      ],
    }));
    const { SQSClient, SendMessageCommand } = await import('@aws-sdk/client-sqs');
    const sqs = new SQSClient(clientOptions(run.endpoints.sqs));
    await sqs.send(new SendMessageCommand({ QueueUrl: run.ref('Plain'), MessageBody: 'x' }));
    await vi.waitFor(async () => expect(await parameter('done')).toMatchObject({ Value: 'yes' }), 60_000);
  });
});
