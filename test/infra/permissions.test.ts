import { expect, test } from 'vitest';
import { routes } from '#contract/routes.ts';
import { functionNames } from '#lib/function-table.ts';
import { type Statement, synthesize } from './synthesize.ts';

const { resources, statements: byRole } = synthesize();
const list = <Value>(value: Value | Value[]): Value[] => (Array.isArray(value) ? value : [value]);

/** The permission that X-Ray tracing needs: X-Ray has no ARNs to restrict it to. */
const isTracing = ({ Action, Resource }: Statement): boolean =>
  Resource === '*' && list(Action).toSorted().join() === 'xray:PutTelemetryRecords,xray:PutTraceSegments';

const policies = [...byRole]
  // The library's role that writes the gateway's logs has a managed policy alone.
  .filter(([, all]) => all.length > 0)
  .map(([owner, all]) => ({
    owner,
    statements: all.filter((statement) => !isTracing(statement)),
    tracing: all.filter(isTracing),
  }));

const logs = ['logs:CreateLogStream', 'logs:PutLogEvents'];
const read = ['dynamodb:BatchGetItem', 'dynamodb:GetItem'];
/** To take from the rate limit. */
const limited = 'dynamodb:UpdateItem';
// With the slots of slow readers.
const listed = ['dynamodb:PutItem', 'dynamodb:Query', limited];
const write = ['dynamodb:PutItem', 'dynamodb:UpdateItem'];
/** What Lambda does with the function's role on the queue of its event source. */
const receive = ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'];
/** To end a batch, which also deletes its index entries of open batches. */
const close = [
  'dynamodb:BatchGetItem',
  'dynamodb:DeleteItem',
  'dynamodb:GetItem',
  'dynamodb:PutItem',
  'dynamodb:Query',
  'dynamodb:UpdateItem',
];
/** What Step Functions needs, also for its log and X-Ray. */
const machine = [
  'lambda:InvokeFunction',
  'logs:CreateLogDelivery',
  'logs:DeleteLogDelivery',
  'logs:DescribeLogGroups',
  'logs:DescribeResourcePolicies',
  'logs:GetLogDelivery',
  'logs:ListLogDeliveries',
  'logs:PutResourcePolicy',
  'logs:UpdateLogDelivery',
  'xray:GetSamplingRules',
  'xray:GetSamplingTargets',
  'xray:PutTelemetryRecords',
  'xray:PutTraceSegments',
];

test('every role may do exactly this', () => {
  const granted = Object.fromEntries(
    policies.map(({ owner, statements }) => [
      owner,
      // An action has a statement for each attribute that it may write alone (lib/written-items.ts).
      [...new Set(statements.map(({ Action, Resource }) => JSON.stringify([Action, Resource])))]
        .flatMap((one) => list((JSON.parse(one) as [string | string[]])[0]))
        .toSorted(),
    ]),
  );
  expect(granted).toEqual({
    // The day of an API key's last use.
    AuthorizeRequest: [...read, 'dynamodb:UpdateItem', ...logs],
    ListPublishedAgents: [...read, ...listed, ...logs],
    CreateChat: [...read, ...write, ...logs],
    ListChats: [...read, ...listed, ...logs],
    GetChat: [...read, limited, ...logs],
    RenameChat: [...read, 'dynamodb:UpdateItem', ...logs],
    DeleteChat: [...[...read, 'dynamodb:DeleteItem'].toSorted(), ...write, ...logs, 'sqs:SendMessage'],
    DeleteFile: [
      'dynamodb:BatchWriteItem',
      'dynamodb:GetItem',
      'dynamodb:Query',
      limited,
      ...logs,
      's3:DeleteObject',
    ],
    EraseUser: [
      'dynamodb:GetItem',
      'dynamodb:PutItem',
      'dynamodb:Query',
      limited,
      ...logs,
      'sqs:SendMessage',
    ],
    ListMessages: [...read, ...listed, ...logs, 's3:GetObject'],
    SendMessage: [
      'dynamodb:BatchGetItem',
      'dynamodb:DeleteItem',
      'dynamodb:GetItem',
      'dynamodb:PutItem',
      'dynamodb:Query',
      'dynamodb:UpdateItem',
      'lambda:InvokeFunction',
      ...logs,
      's3:DeleteObject',
      's3:GetObject',
      's3:GetObject',
      's3:ListBucket',
      's3:PutObject',
      'secretsmanager:GetSecretValue',
    ],
    ListModels: [...read, 'dynamodb:Query', limited, ...logs],
    GetModel: ['dynamodb:GetItem', limited, ...logs],
    CompleteChat: [
      ...read,
      limited,
      ...logs,
      's3:GetObject',
      's3:ListBucket',
      'secretsmanager:GetSecretValue',
    ],
    RejectOpenaiPath: ['dynamodb:GetItem', limited, ...logs],
    TestAgent: [...read, limited, ...logs, 's3:GetObject', 's3:ListBucket', 'secretsmanager:GetSecretValue'],
    // It gets presigned addresses, and parses hostile files.
    PrepareAttachment: logs,
    UploadFile: [
      'dynamodb:PutItem',
      'dynamodb:UpdateItem',
      ...logs,
      's3:DeleteObject',
      's3:GetObject',
      's3:PutObject',
      's3:PutObjectTagging',
    ],
    RecordFeedback: [...read, 'dynamodb:ConditionCheckItem', ...write, ...logs].sort(),
    ResumeStream: [...read, 'dynamodb:Query', limited, ...logs],
    StopReply: [...read, 'dynamodb:UpdateItem', ...logs],
    CreateBatch: [
      'dynamodb:BatchGetItem',
      'dynamodb:BatchWriteItem',
      'dynamodb:GetItem',
      'dynamodb:PutItem',
      'dynamodb:UpdateItem',
      'kms:Encrypt',
      ...logs,
      'states:StartExecution',
    ],
    ListBatches: [...read, ...listed, ...logs],
    GetBatch: [...read, 'dynamodb:Query', limited, ...logs],
    ListBatchResults: [...read, ...listed, ...logs, 's3:GetObject'],
    CancelBatch: [...read, 'dynamodb:Query', 'dynamodb:UpdateItem', ...logs, 'states:SendTaskSuccess'],
    ProcessBatchItems: [
      'dynamodb:BatchGetItem',
      'dynamodb:DeleteItem',
      'dynamodb:GetItem',
      'dynamodb:PutItem',
      'dynamodb:Query',
      'dynamodb:UpdateItem',
      'lambda:InvokeFunction',
      ...logs,
      's3:DeleteObject',
      's3:GetObject',
      's3:GetObject',
      's3:ListBucket',
      's3:PutObject',
      'secretsmanager:GetSecretValue',
      ...receive,
      'sqs:SendMessage',
      'states:DescribeExecution',
      'states:SendTaskSuccess',
      'states:StartExecution',
    ],
    DispatchBatch: [
      'dynamodb:GetItem',
      'dynamodb:PutItem',
      'dynamodb:UpdateItem',
      ...logs,
      'sqs:SendMessage',
      'states:SendTaskSuccess',
    ],
    AdvanceBatch: [...close, ...logs, 'sqs:SendMessage'],
    FailBatch: [...close, ...logs],
    DeleteUnusedChats: [
      'dynamodb:BatchGetItem',
      'dynamodb:DeleteItem',
      'dynamodb:GetItem',
      'dynamodb:PutItem',
      'dynamodb:Query',
      'dynamodb:UpdateItem',
      ...logs,
      'sqs:SendMessage',
    ],
    PurgeChat: [
      'dynamodb:BatchGetItem',
      'dynamodb:BatchWriteItem',
      'dynamodb:DeleteItem',
      'dynamodb:GetItem',
      'dynamodb:PutItem',
      'dynamodb:Query',
      'dynamodb:UpdateItem',
      ...logs,
      's3:DeleteObject',
      's3:ListBucket',
      ...receive,
      'sqs:SendMessage',
    ],
    DeliverWebhook: [...read, 'dynamodb:PutItem', 'dynamodb:Query', 'kms:Decrypt', ...logs].toSorted(),
    ReconcileBatches: [
      ...read,
      'dynamodb:DeleteItem',
      'dynamodb:PutItem',
      'dynamodb:Query',
      'dynamodb:UpdateItem',
      ...logs,
      // To the batch queue, and to the queue of purges.
      'sqs:SendMessage',
      'states:DescribeExecution',
      'states:SendTaskSuccess',
      'states:StartExecution',
    ].toSorted(),
    BatchesMachine: machine,
    // The gateway calls the functions of routes and the authorizer.
    ApiCaller: ['lambda:InvokeFunction'],
    // For CodeDeploy, which moves aliases.
    Rollout: [
      'cloudwatch:DescribeAlarms',
      'lambda:GetAlias',
      'lambda:GetProvisionedConcurrencyConfig',
      'lambda:UpdateAlias',
    ],
  });
});

test('every write names the items that it may write', () => {
  const writes = policies.flatMap(({ statements }) =>
    statements.filter(({ Action }) =>
      list(Action).some((action) => /:(Put|Update|Delete|BatchWrite)Item$/.test(action)),
    ),
  );
  expect(writes.length).toBeGreaterThan(functionNames.length);
  for (const { Condition } of writes)
    expect(Condition).toMatchObject({
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': expect.anything() },
    });
});

test('every function tells its traces, and nobody else does', () => {
  const tracing = policies.filter((policy) => policy.tracing.length > 0);
  expect(tracing).toHaveLength(functionNames.length);
  expect(tracing.every((policy) => policy.tracing.length === 1)).toBe(true);
  const modes = Object.values(resources('AWS::Lambda::Function')).flatMap(
    ({ Properties }) => Properties.TracingConfig ?? [],
  );
  expect(modes).toEqual(functionNames.map(() => ({ Mode: 'Active' })));
  const [gateway] = Object.values(resources('AWS::ApiGateway::Stage'));
  expect(gateway?.Properties.TracingEnabled).toBe(true);
  const [workflow] = Object.values(resources('AWS::StepFunctions::StateMachine'));
  expect(workflow?.Properties.TracingConfiguration).toEqual({ Enabled: true });
});

test('no role is given a wildcard action', () => {
  const actions = policies.flatMap(({ statements }) => statements.flatMap(({ Action }) => list(Action)));
  expect(actions.length).toBeGreaterThan(0);
  expect(actions.filter((action) => action.includes('*'))).toEqual([]);
});

test('wildcard resources are object keys, executions, and what has no others', () => {
  const join = (...parts: unknown[]) => JSON.stringify({ 'Fn::Join': ['', parts] });
  const idOf = (name: string, type: string): string =>
    Object.keys(resources(type)).find((id) => id.startsWith(name)) ?? name;
  const objectKeys = ['ContentBucket', 'FileBucket'].map((bucket) =>
    join({ 'Fn::GetAtt': [bucket, 'Arn'] }, '/*'),
  );
  const executions = join(
    'arn:',
    { Ref: 'AWS::Partition' },
    ':states:',
    { Ref: 'AWS::Region' },
    ':',
    { Ref: 'AWS::AccountId' },
    ':execution:',
    { 'Fn::GetAtt': [idOf('Batches', 'AWS::StepFunctions::StateMachine'), 'Name'] },
    ':*',
  );
  const wildcards = policies.flatMap(({ owner, statements }) =>
    statements
      .flatMap(({ Resource }) => list(Resource))
      .map((resource) => ({ owner, resource: JSON.stringify(resource) }))
      .filter(({ resource }) => resource.includes('*')),
  );
  const everything = wildcards.filter(({ resource }) => resource === '"*"');
  // Log delivery and X-Ray need it, and CodeDeploy to describe alarms.
  expect(new Set(everything.map(({ owner }) => owner))).toEqual(new Set(['BatchesMachine', 'Rollout']));
  expect(new Set(wildcards.map(({ resource }) => resource))).toEqual(
    new Set([...objectKeys, executions, '"*"']),
  );
});

test('each function has a role of its own, with no policy of AWS', () => {
  const roles = resources('AWS::IAM::Role');
  const used = Object.values(resources('AWS::Lambda::Function')).map(
    ({ Properties }) => (Properties.Role as { 'Fn::GetAtt': [string, string] })['Fn::GetAtt'][0],
  );
  expect(new Set(used).size).toBe(used.length);
  for (const id of used) expect(roles[id]?.Properties).not.toHaveProperty('ManagedPolicyArns');
});

test('API Gateway may call the functions of routes and the authorizer, schedules the reconciler and the deletion of unused chats, and nobody else any', () => {
  const [calls, ...others] = byRole.get('ApiCaller') ?? [];
  expect(others).toEqual([]);
  const called = [...JSON.stringify(calls?.Resource).matchAll(/\["(\w+)[0-9A-F]{8}","Arn"\]\},":live"/g)];
  expect(called.map(([, name = '']) => name.toLowerCase()).toSorted()).toEqual(
    [...Object.keys(routes), 'authorize-request'].map((name) => name.replaceAll('-', '')).toSorted(),
  );
  const [roleId] = Object.keys(resources('AWS::IAM::Role')).filter((id) => id.startsWith('ApiCallerRole'));
  const credentials = { 'Fn::GetAtt': [roleId, 'Arn'] };
  for (const { Properties } of Object.values(resources('AWS::ApiGateway::Method')))
    expect(Properties.Integration).toMatchObject({ Credentials: credentials });
  for (const { Properties } of Object.values(resources('AWS::ApiGateway::Authorizer')))
    expect(Properties.AuthorizerCredentials).toEqual(credentials);

  const permissions = Object.values(resources('AWS::Lambda::Permission')).map(({ Properties }) => Properties);
  const aliases = Object.keys(resources('AWS::Lambda::Alias'));
  for (const { Action, FunctionName, Principal } of permissions) {
    expect([Action, Principal]).toEqual(['lambda:InvokeFunction', 'events.amazonaws.com']);
    expect(aliases).toContain((FunctionName as { Ref: string }).Ref);
  }
  const scheduled = permissions.map((permission) => JSON.stringify(permission)).toSorted();
  expect(scheduled).toHaveLength(2);
  expect(scheduled[0]).toMatch(/DeleteUnusedChats.*UnusedChatsSchedule/);
  expect(scheduled[1]).toMatch(/ReconcileBatches.*BatchesReconciliation/);
});
