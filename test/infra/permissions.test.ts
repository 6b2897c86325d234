import { expect, test } from 'vitest';
import { synthesize } from './synthesize.ts';

interface Statement {
  Effect: string;
  Action: string | string[];
  Resource: unknown;
}

const { resources } = synthesize();
const list = <Value>(value: Value | Value[]): Value[] => (Array.isArray(value) ? value : [value]);

const policies = Object.entries(resources('AWS::IAM::Policy')).map(([id, { Properties }]) => ({
  owner: id.replace(/RoleDefaultPolicy.*$/, ''),
  statements: (Properties.PolicyDocument as { Statement: Statement[] }).Statement,
}));

const logs = ['logs:CreateLogStream', 'logs:PutLogEvents'];
const read = ['dynamodb:BatchGetItem', 'dynamodb:GetItem'];
const write = ['dynamodb:PutItem', 'dynamodb:UpdateItem'];

test('every role may do exactly this', () => {
  const granted = Object.fromEntries(
    policies.map(({ owner, statements }) => [
      owner,
      statements.flatMap(({ Action }) => list(Action)).toSorted(),
    ]),
  );
  expect(granted).toEqual({
    AuthorizeRequest: [...read, ...logs],
    ListPublishedAgents: [...read, 'dynamodb:Query', ...logs],
    CreateChat: [...read, 'dynamodb:PutItem', ...logs],
    ListChats: [...read, ...logs],
    ListMessages: [...read, 'dynamodb:Query', ...logs, 's3:GetObject'],
    SendMessage: [
      ...read,
      'dynamodb:PutItem',
      'dynamodb:Query',
      'dynamodb:UpdateItem',
      ...logs,
      's3:DeleteObject',
      's3:GetObject',
      's3:PutObject',
      'secretsmanager:GetSecretValue',
    ],
    UploadFile: [
      'dynamodb:PutItem',
      ...logs,
      's3:AbortMultipartUpload',
      's3:DeleteObject',
      's3:GetObject',
      's3:PutObject',
      's3:PutObjectTagging',
    ],
    RecordFeedback: [...read, ...write, ...logs],
  });
});

test('no role is given a wildcard action', () => {
  const actions = policies.flatMap(({ statements }) => statements.flatMap(({ Action }) => list(Action)));
  expect(actions.length).toBeGreaterThan(0);
  expect(actions.filter((action) => action.includes('*'))).toEqual([]);
});

test('the only wildcard resources are those of the object keys in a bucket', () => {
  const objectKeys = ['ContentBucket', 'FileBucket'].map((bucket) =>
    JSON.stringify({ 'Fn::Join': ['', [{ 'Fn::GetAtt': [bucket, 'Arn'] }, '/*']] }),
  );
  const wildcards = policies
    .flatMap(({ statements }) => statements.flatMap(({ Resource }) => list(Resource)))
    .map((resource) => JSON.stringify(resource))
    .filter((resource) => resource.includes('*'));
  expect(new Set(wildcards)).toEqual(new Set(objectKeys));
});

test('each function has a role of its own, with no policy of AWS', () => {
  const roles = resources('AWS::IAM::Role');
  const used = Object.values(resources('AWS::Lambda::Function')).map(
    ({ Properties }) => (Properties.Role as { 'Fn::GetAtt': [string, string] })['Fn::GetAtt'][0],
  );
  expect(new Set(used).size).toBe(used.length);
  for (const id of used) expect(roles[id]?.Properties).not.toHaveProperty('ManagedPolicyArns');
});

test('only API Gateway may call a function, and each permission names its route', () => {
  const permissions = Object.values(resources('AWS::Lambda::Permission'));
  expect(permissions).toHaveLength(Object.keys(resources('AWS::Lambda::Function')).length);
  for (const { Properties } of permissions) {
    expect(Properties).toMatchObject({
      Principal: 'apigateway.amazonaws.com',
      Action: 'lambda:InvokeFunction',
    });
    expect(JSON.stringify(Properties.SourceArn)).toMatch(/authorizers|\/(GET|POST)\/v1\//);
  }
});
