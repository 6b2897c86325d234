import path from 'node:path';
import * as dynamodb from '@aws-sdk/client-dynamodb';
import { EncryptCommand, KMSClient } from '@aws-sdk/client-kms';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import * as s3 from '@aws-sdk/client-s3';
import {
  GetSecretValueCommand,
  ListSecretVersionIdsCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { DescribeExecutionCommand, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { describe, expect, it, vi } from 'vitest';
import { PERMISSION_NOTES } from '#local/iam/permission-uses.ts';
import { runTemplate } from '#local/run-template.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { findUnusedPermissions } from '#support/unused-permissions.ts';
import { clientOptions } from './fixture/start-background.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

const notes = () => path.join(dataDir, 'notes');
const rejections: string[] = [];
const logs: string[] = [];

/** The value of Ref for the resource whose logical id has this prefix. */
const ref = (prefix: string): string => {
  const [id] = Object.keys(run.physicalIds).filter((name) =>
    new RegExp(`^${prefix}([0-9A-F]{8})?$`).test(name),
  );
  return run.physicalIds[id ?? ''] ?? '';
};

const dataDir = await temporaryFolder('local-data-');
const { [PERMISSION_NOTES]: given } = process.env;
process.env[PERMISSION_NOTES] = notes();
const run = closeAfterTests(
  await runTemplate({
    assembly: await synthesizeFixture('Access'),
    dataDir,
    port: 0,
    onDenied: (message) => rejections.push(message),
    onLog: ({ line }) => logs.push(line),
  }),
);
if (given === undefined) delete process.env[PERMISSION_NOTES];
else process.env[PERMISSION_NOTES] = given;
const lambda = new LambdaClient(clientOptions(run.endpoints.lambda));
const { Payload } = await lambda.send(new InvokeCommand({ FunctionName: ref('Caller') }));
const role = JSON.parse(Payload?.transformToString() ?? '') as Credentials;
const user = `arn:aws:sts::000000000000:assumed-role/${run.outputs.RoleName}/${ref('Caller')}`;

const as = (credentials: Credentials, endpoint: string) => ({
  ...clientOptions(endpoint),
  credentials,
  maxAttempts: 1,
});

/** The error of a denied call, which is also what the console shows. */
const denied = (action: string, resource: string, because?: string) => ({
  message: `User: ${user} is not authorized to perform: ${action} on resource: ${resource} ${because ?? `because no identity-based policy allows the ${action} action`}`,
});
const tableArn = (table: string) => `arn:aws:dynamodb:us-east-1:000000000000:table/${ref(table)}`;

describe('DynamoDB', () => {
  const send = (command: unknown, credentials: Credentials = role): Promise<unknown> =>
    new dynamodb.DynamoDBClient(as(credentials, run.endpoints.dynamodb)).send(command as never);
  const Item = { pk: { S: 'a' }, group: { S: 'g' } };
  const Key = { pk: { S: 'a' } };
  const put = (table = 'Items') => ({ Put: { TableName: ref(table), Item } });

  it('lets pass what a statement allows, by a wildcard too', async () => {
    const TableName = ref('Items');
    await send(new dynamodb.PutItemCommand({ TableName, Item }));
    await send(new dynamodb.TransactWriteItemsCommand({ TransactItems: [put()] }));
    await send(new dynamodb.DeleteItemCommand({ TableName, Key }));
    expect(rejections.filter((message) => message.includes('dynamodb:'))).toEqual([]);
  });

  it.each<[string, () => unknown, string, () => string, string?]>([
    [
      'another action',
      () => new dynamodb.ScanCommand({ TableName: ref('Items') }),
      'Scan',
      () => tableArn('Items'),
    ],
    [
      'another table',
      () => new dynamodb.PutItemCommand({ TableName: ref('Untouched'), Item }),
      'PutItem',
      () => tableArn('Untouched'),
    ],
    [
      'another index',
      () => new dynamodb.QueryCommand({ TableName: ref('Items'), IndexName: 'byOther' }),
      'Query',
      () => `${tableArn('Items')}/index/byOther`,
    ],
    [
      'what a statement denies',
      () => new dynamodb.UpdateItemCommand({ TableName: ref('Items'), Key }),
      'UpdateItem',
      () => tableArn('Items'),
      'with an explicit deny in an identity-based policy',
    ],
    [
      'a batch without its own permission',
      () =>
        new dynamodb.BatchWriteItemCommand({ RequestItems: { [ref('Items')]: [{ PutRequest: { Item } }] } }),
      'BatchWriteItem',
      () => tableArn('Items'),
    ],
    [
      'a transaction with one thing too many',
      () => new dynamodb.TransactWriteItemsCommand({ TransactItems: [put(), put('Untouched')] }),
      'PutItem',
      () => tableArn('Untouched'),
    ],
    [
      'a check in a transaction',
      () =>
        new dynamodb.TransactWriteItemsCommand({
          TransactItems: [
            { ConditionCheck: { TableName: ref('Items'), Key, ConditionExpression: 'attribute_exists(pk)' } },
          ],
        }),
      'ConditionCheckItem',
      () => tableArn('Items'),
    ],
  ])('refuses %s', async (_, command, action, resource, because) => {
    const expected = denied(`dynamodb:${action}`, resource(), because);
    await expect(send(command())).rejects.toMatchObject({
      ...expected,
      name: 'AccessDeniedException',
      $metadata: { httpStatusCode: 400 },
    });
    expect(rejections).toContain(expected.message);
    expect(run.violations()).toContain(expected.message);
  });

  it('looks at the partition keys of items, in queries and in batches too', async () => {
    const TableName = ref('Untouched');
    const query = (value: string) =>
      send(
        new dynamodb.QueryCommand({
          TableName,
          KeyConditionExpression: '#p = :p',
          ExpressionAttributeNames: { '#p': 'pk' },
          ExpressionAttributeValues: { ':p': { S: value } },
        }),
      );
    const read = (...values: string[]) =>
      send(
        new dynamodb.BatchGetItemCommand({
          RequestItems: { [TableName]: { Keys: values.map((value) => ({ pk: { S: value } })) } },
        }),
      );
    await query('own#1');
    await read('own#1', 'own#2');
    await expect(query('other#1')).rejects.toMatchObject(denied('dynamodb:Query', tableArn('Untouched')));
    await expect(read('own#1', 'other#1')).rejects.toMatchObject(
      denied('dynamodb:BatchGetItem', tableArn('Untouched')),
    );
  });

  it('looks at the attributes of items, in conditions and in transactions too', async () => {
    const TableName = ref('Untouched');
    const put = (item: Record<string, { S: string }>, condition: object = {}) =>
      send(new dynamodb.PutItemCommand({ TableName, Item: { pk: { S: 'own#1' }, ...item }, ...condition }));
    const transact = (Item: Record<string, { S: string }>) =>
      send(new dynamodb.TransactWriteItemsCommand({ TransactItems: [{ Put: { TableName, Item } }] }));
    const expected = denied('dynamodb:PutItem', tableArn('Untouched'));
    await put(
      { free: { S: 'a' } },
      { ConditionExpression: 'attribute_not_exists(#read)', ExpressionAttributeNames: { '#read': 'read' } },
    );
    await transact({ pk: { S: 'own#2' }, free: { S: 'a' } });
    await expect(put({ other: { S: 'a' } })).rejects.toMatchObject(expected);
    await expect(put({}, { ConditionExpression: 'attribute_not_exists(other.read)' })).rejects.toMatchObject(
      expected,
    );
    await expect(transact({ pk: { S: 'own#3' }, other: { S: 'a' } })).rejects.toMatchObject({
      message: expected.message,
    });
  });

  it('asks for the key of a table that is encrypted with one', async () => {
    const keyArn = `arn:aws:kms:us-east-1:000000000000:key/${ref('TableKey')}`;
    await expect(send(new dynamodb.PutItemCommand({ TableName: ref('Sealed'), Item }))).rejects.toMatchObject(
      denied('kms:Decrypt', keyArn),
    );
  });

  it('lets the operator do everything, and does not know other keys', async () => {
    const describe = () => new dynamodb.DescribeTableCommand({ TableName: ref('Untouched') });
    await send(describe(), clientOptions('').credentials);
    await expect(send(describe(), { accessKeyId: 'x', secretAccessKey: 'x' })).rejects.toMatchObject({
      name: 'UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
    });
    const anonymous = await fetch(run.endpoints.dynamodb, {
      method: 'POST',
      headers: { 'X-Amz-Target': 'DynamoDB_20120810.ListTables' },
      body: '{}',
    });
    expect([anonymous.status, await anonymous.json()]).toEqual([
      400,
      {
        __type: 'com.amazon.coral.service#MissingAuthenticationTokenException',
        Message: 'Request is missing Authentication Token',
      },
    ]);
  });
});

describe('S3', () => {
  const client = (credentials: Credentials = role) =>
    new s3.S3Client({
      ...as(credentials, run.endpoints.s3),
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
  const at = (Key: string, bucket = 'Files') => ({ Bucket: ref(bucket), Key });
  const objectArn = (key: string, bucket = 'Files') => `arn:aws:s3:::${ref(bucket)}/${key}`;
  const write = (Key: string, more: object = {}) =>
    client().send(new s3.PutObjectCommand({ ...at(Key), Body: 'x', ...more }));
  const list = (more: object) =>
    client().send(new s3.ListObjectsV2Command({ Bucket: ref('Files'), ...more }));

  it('lets pass what a statement allows: objects by their prefix, lists by a condition', async () => {
    await write('mine/a');
    await client().send(new s3.HeadObjectCommand(at('mine/a')));
    expect((await list({ Prefix: 'mine/' })).Contents).toHaveLength(1);
    await expect(list({})).rejects.toMatchObject(denied('s3:ListBucket', `arn:aws:s3:::${ref('Files')}`));
  });

  it('refuses in its own form', async () => {
    await expect(write('other/a')).rejects.toMatchObject({
      ...denied('s3:PutObject', objectArn('other/a')),
      name: 'AccessDenied',
      $metadata: { httpStatusCode: 403 },
    });
    await expect(write('mine/tagged', { Tagging: 'a=b' })).rejects.toMatchObject(
      denied('s3:PutObjectTagging', objectArn('mine/tagged')),
    );
    await expect(
      client().send(new s3.CopyObjectCommand({ ...at('mine/b'), CopySource: `${ref('Files')}/other/a` })),
    ).rejects.toMatchObject(denied('s3:GetObject', objectArn('other/a')));
    const upload = { ...at('mine/a'), UploadId: 'u' };
    await expect(client().send(new s3.AbortMultipartUploadCommand(upload))).rejects.toMatchObject(
      denied('s3:AbortMultipartUpload', objectArn('mine/a')),
    );
    await expect(
      client({ accessKeyId: 'x', secretAccessKey: 'x' }).send(new s3.GetObjectCommand(at('mine/a'))),
    ).rejects.toMatchObject({ name: 'InvalidAccessKeyId', $metadata: { httpStatusCode: 403 } });
    expect((await fetch(`${run.endpoints.s3}/${ref('Files')}/mine/a`)).status).toBe(403);
  });

  it('tells only who may list a bucket that it has no such object', async () => {
    await expect(client().send(new s3.GetObjectCommand(at('mine/none')))).rejects.toMatchObject({
      ...denied('s3:ListBucket', `arn:aws:s3:::${ref('Files')}`),
      name: 'AccessDenied',
    });
    await expect(client().send(new s3.GetObjectCommand(at('none', 'Guarded')))).rejects.toMatchObject({
      name: 'NoSuchKey',
    });
  });

  it('follows the policy of a bucket: what it allows by itself, and what it denies', async () => {
    await client().send(new s3.PutObjectCommand({ ...at('secret/a', 'Guarded'), Body: 'x' }));
    await expect(client().send(new s3.GetObjectCommand(at('secret/a', 'Guarded')))).rejects.toMatchObject(
      denied(
        's3:GetObject',
        objectArn('secret/a', 'Guarded'),
        'with an explicit deny in a resource-based policy',
      ),
    );
  });

  it('judges a signed address by who signed it', async () => {
    await write('mine/linked');
    const statusOf = async (key: string) =>
      (await fetch(await getSignedUrl(client(), new s3.GetObjectCommand(at(key))))).status;
    expect([await statusOf('mine/linked'), await statusOf('other/linked')]).toEqual([200, 403]);
  });
});

describe('other services', () => {
  it('SQS refuses what is not allowed', async () => {
    const sqs = new SQSClient(as(role, run.endpoints.sqs));
    const QueueUrl = ref('Work');
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }));
    const arn = `arn:aws:sqs:us-east-1:000000000000:${QueueUrl.split('/').pop()}`;
    await expect(sqs.send(new ReceiveMessageCommand({ QueueUrl }))).rejects.toMatchObject({
      ...denied('sqs:ReceiveMessage', arn),
      name: 'AccessDeniedException',
    });
  });

  it('KMS looks at the condition, and lets a key that keeps to itself decide', async () => {
    const kms = new KMSClient(as(role, run.endpoints.kms));
    const encrypt = (key: string, tenant?: string) =>
      kms.send(
        new EncryptCommand({
          KeyId: ref(key),
          Plaintext: Buffer.from('x'),
          ...(tenant && { EncryptionContext: { tenant } }),
        }),
      );
    const arn = (key: string) => `arn:aws:kms:us-east-1:000000000000:key/${ref(key)}`;
    await encrypt('Key', 'one');
    for (const tenant of ['two', undefined])
      await expect(encrypt('Key', tenant)).rejects.toMatchObject(denied('kms:Encrypt', arn('Key')));
    await expect(encrypt('Closed')).rejects.toMatchObject({
      ...denied(
        'kms:Encrypt',
        arn('Closed'),
        'because no resource-based policy allows the kms:Encrypt action',
      ),
      name: 'AccessDeniedException',
    });
  });

  it('Secrets Manager, Lambda and Step Functions refuse what is not allowed', async () => {
    const secrets = new SecretsManagerClient(as(role, run.endpoints.secretsmanager));
    await secrets.send(new ListSecretVersionIdsCommand({ SecretId: ref('Secret') }));
    await expect(secrets.send(new GetSecretValueCommand({ SecretId: ref('Secret') }))).rejects.toMatchObject(
      denied('secretsmanager:GetSecretValue', ref('Secret')),
    );
    const lambda = new LambdaClient(as(role, run.endpoints.lambda));
    await expect(lambda.send(new InvokeCommand({ FunctionName: ref('Called') }))).rejects.toMatchObject({
      ...denied('lambda:InvokeFunction', `arn:aws:lambda:us-east-1:000000000000:function:${ref('Called')}`),
      name: 'AccessDeniedException',
      $metadata: { httpStatusCode: 403 },
    });
    const machine = { stateMachineArn: ref('Allowed') };
    await expect(
      new SFNClient(as(role, run.endpoints.sfn)).send(new StartExecutionCommand(machine)),
    ).rejects.toMatchObject(denied('states:StartExecution', ref('Allowed')));
  });
});

describe('a caller of a function', () => {
  it('is a state machine, whose role needs the permission', async () => {
    const sfn = new SFNClient(clientOptions(run.endpoints.sfn));
    const endOf = async (machine: string) => {
      const { executionArn } = await sfn.send(new StartExecutionCommand({ stateMachineArn: ref(machine) }));
      return await vi.waitFor(async () => {
        const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
        expect(execution.status).not.toBe('RUNNING');
        return execution;
      }, 10_000);
    };
    expect(await endOf('Allowed')).toMatchObject({ status: 'SUCCEEDED' });
    expect(await endOf('Forbidden')).toMatchObject({
      status: 'FAILED',
      error: 'Lambda.AWSLambdaException',
      cause: expect.stringMatching(
        /assumed-role\/.*Forbidden.* is not authorized to perform: lambda:InvokeFunction/,
      ),
    });
  });

  it('is the gateway, which needs a permission for the method and for the authorizer', async () => {
    const get = async (path: string) => {
      const response = await fetch(`${run.url}/${path}`, { headers: { Authorization: 'x' } });
      return `${response.status} ${await response.text()}`;
    };
    expect(await get('open/1')).toBe('200 called');
    expect(await get('closed')).toBe('500 {"failed":"API_CONFIGURATION_ERROR"}');
    expect(await get('guarded')).toBe('500 {"failed":"AUTHORIZER_CONFIGURATION_ERROR"}');
    expect(rejections).toContainEqual(
      expect.stringMatching(/^User: apigateway.amazonaws.com for arn:aws:execute-api:.*\/live\/GET\/closed /),
    );
  });

  it('is a role of the gateway, which needs the permission in place of the function', async () => {
    const get = async (path: string) => {
      const response = await fetch(`${run.url}/${path}`);
      return `${response.status} ${await response.text()}`;
    };
    expect(await get('by-role')).toBe('200 called');
    expect(await get('by-other-role')).toBe('500 {"failed":"API_CONFIGURATION_ERROR"}');
    expect(rejections).toContainEqual(
      expect.stringMatching(/^User: .*:assumed-role\/.*byotherrole.*lambda:InvokeFunction/i),
    );
  });

  it('is a schedule, which needs a permission', () => {
    expect(logs).toContainEqual(
      expect.stringMatching(
        /^User: events.amazonaws.com for .*Unheard.* because no resource-based policy allows/,
      ),
    );
  });
});

describe('a function that calls DynamoDB', () => {
  const call = async (operation: string, input: object) => {
    const lambda = new LambdaClient(clientOptions(run.endpoints.lambda));
    const Payload = JSON.stringify({ operation, input });
    const response = await lambda.send(new InvokeCommand({ FunctionName: ref('Direct'), Payload }));
    return JSON.parse(response.Payload?.transformToString() ?? '') as {
      output?: object;
      error?: { name: string; message: string };
      port: number;
    };
  };
  const wirePort = () => Number(new URL(run.endpoints.dynamodb).port);

  it('goes straight to the engine once the wire has noted what it may do', async () => {
    const TableName = ref('Items');
    const Item = { pk: { S: 'direct' } };
    expect(await call('PutItem', { TableName, Item })).toEqual({ output: {}, port: wirePort() });
    const { port, output } = await call('PutItem', { TableName, Item });
    expect(output).toEqual({});
    expect(port).not.toBe(wirePort());
    // A call that needs another permission goes through the wire again at first.
    const Key = Item;
    expect(await call('GetItem', { TableName, Key })).toEqual({ output: { Item }, port: wirePort() });
    expect(await call('GetItem', { TableName, Key })).toEqual({ output: { Item }, port });
  });

  it('is refused by the wire, however often it asks', async () => {
    for (let time = 0; time < 3; time += 1) {
      const before = rejections.length;
      expect(await call('Scan', { TableName: ref('Items') })).toEqual({
        error: {
          name: 'AccessDeniedException',
          message: denied('dynamodb:Scan', tableArn('Items')).message.replace(ref('Caller'), ref('Direct')),
        },
        port: wirePort(),
      });
      expect(rejections.length).toBe(before + 1);
    }
  });

  it('is refused what a condition rules out, of what it may do to other items', async () => {
    const query = (pk: string) =>
      call('Query', {
        TableName: ref('Untouched'),
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: pk } },
      });
    await query('own#1');
    const { port } = await query('own#2');
    expect(port).not.toBe(wirePort());
    expect(await query('other#1')).toMatchObject({
      error: { name: 'AccessDeniedException' },
      port: wirePort(),
    });
  });

  it('passes on what the engine refuses', async () => {
    const rejected = () =>
      call('PutItem', {
        TableName: ref('Items'),
        Item: { pk: { S: 'direct' } },
        ConditionExpression: 'attribute_not_exists(pk)',
      });
    await rejected();
    expect(await rejected()).toMatchObject({ error: { name: 'ConditionalCheckFailedException' } });
  });
});

it('notes which permissions were used', () => {
  const { unused, needless } = findUnusedPermissions(notes(), /^Access$/, {
    untestable: [
      { action: /^logs:/, reason: 'x' },
      { action: /^xray:/, reason: 'x' },
    ],
  });
  const ofCaller = unused.filter((line) => line.startsWith('Access-Caller') || line.startsWith('Caller'));
  // Permissions that a denial or the key's own policy blocks can never be used.
  expect(ofCaller.map((line) => line.replace(/ on .*/, ''))).toEqual([
    'CallerService: dynamodb:Query',
    'CallerService: dynamodb:UpdateItem',
    'CallerService: kms:Encrypt',
  ]);
  expect(needless).toEqual(['/^xray:/']);
});
