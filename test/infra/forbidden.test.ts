import { expect, test } from 'vitest';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { routes } from '#contract/routes.ts';
import { pascalCase } from '#lib/function-names.ts';
import { type Access, access, webAccess } from '#lib/function-table.ts';
import type { ItemKind } from '#lib/written-items.ts';
import type { Permission } from '#local/iam/access-rules.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { openSessions } from './sessions.ts';
import { synthesize } from './synthesize.ts';

const sessions = await openSessions(synthesize({ settings: {} }).template);
const { allows, arn, arnOf, idsOf } = sessions;
const owners = [...allows.keys()];
const table = arn('AWS::DynamoDB::GlobalTable', 'DataTable');
const functions = idsOf('AWS::Lambda::Function').filter((id) =>
  owners.includes(id.replace(/[0-9A-F]{8}$/, '')),
);
const functionOf = (owner: string): string => arn('AWS::Lambda::Function', owner);

/** A pair of a role and a permission, and whether the role needs the permission. */
interface Pair extends Permission {
  owner: string;
  isNeeded: boolean;
}

const pairs: Pair[] = [];

/** Adds the pairs of a permission with every role. */
function request(
  action: string,
  resource: string,
  isNeededBy: (owner: string) => boolean = () => false,
  context: Permission['context'] = {},
): void {
  for (const owner of owners) pairs.push({ owner, action, resource, context, isNeeded: isNeededBy(owner) });
}

const accessOf = new Map<string, Access>([
  ...Object.entries(access).map(([name, needs]): [string, Access] => [pascalCase(name), needs]),
  ['Chats', webAccess['serve-chats']],
  ['Uploads', webAccess['receive-uploads']],
]);
const ownersWith = (has: (needs: Access) => boolean) => (owner: string) => {
  const needs = accessOf.get(owner);
  return needs !== undefined && has(needs);
};
const among =
  (...names: string[]) =>
  (owner: string) =>
    names.includes(owner);

const w = identifiers.workspaceId();
const [id, at, user] = [identifiers.uuid(), new Date(0).toISOString(), 'somebody#else'];

/** An item of each kind, and the attributes that a function may write. Undefined kinds are written by operators alone. */
const items: Record<keyof typeof keys, [Key, ItemKind?, ...attributes: string[]]> = {
  apiKey: [keys.apiKey('0'.repeat(64)), 'apiKeys', 'last_used_on'],
  apiKeyOfWorkspace: [keys.apiKeyOfWorkspace(w, 'key')],
  workspace: [keys.workspace(w)],
  whitelistEntry: [keys.whitelistEntry(w, user), 'whitelists'],
  rateBuckets: [keys.rateBuckets(w, 'key', 'sends=1/s'), 'rateBuckets'],
  slotReport: [keys.slotReport(id), 'slotReports'],
  agent: [keys.agent(w, id)],
  publishedAgent: [keys.publishedAgent(w, id)],
  publishedEntry: [keys.publishedEntry(w, id)],
  agentVersion: [keys.agentVersion(w, id, 1)],
  lastNumber: [keys.lastNumber(w, 'CHATS'), 'lastNumbers'],
  chat: [keys.chat(w, 1), 'chats'],
  chatList: [keys.chatList(w, { agentId: id }).entry(1), 'chatLists'],
  message: [keys.message(w, 1, 1), 'chats'],
  replyEvents: [keys.replyEvents(w, 1, id, 1, 0), 'chats'],
  feedbackCounts: [keys.feedbackCounts(w, 1, 1), 'chats'],
  chatBatchRequest: [keys.chatBatchRequest(w, 1, id, 0), 'chats'],
  feedback: [keys.feedback(w, 1, 1, user), 'chats'],
  file: [keys.file(w, id), 'files'],
  chatOfFile: [keys.chatOfFile(w, id, 1), 'files'],
  fileOfChat: [keys.fileOfChat(w, 1, id), 'chats'],
  knowledgeHead: [keys.knowledgeHead(w)],
  knowledgeDocument: [keys.knowledgeDocument(w, id)],
  idempotencyKey: [keys.idempotencyKey(w, '0'.repeat(64)), 'idempotencyRecords'],
  usage: [keys.usage(w, at.slice(0, 10), 'key', id, 'process_1'), 'usage'],
  batch: [keys.batch(w, id), 'batches'],
  batchToken: [keys.batchToken(w, id), 'batches'],
  batchWebhook: [keys.batchWebhook(w, id), 'batches'],
  batchManifest: [keys.batchManifest(w, id, 0), 'batches'],
  batchRequests: [keys.batchRequests(w, id, 0), 'batches'],
  batchText: [keys.batchText(w, id, 0), 'batches'],
  batchItem: [keys.batchItem(w, id, 0), 'batches'],
  webhookDelivery: [keys.webhookDelivery(w, id), 'batches'],
  deliveryAttempt: [keys.deliveryAttempt(w, id, 1), 'batches'],
  batchList: [keys.batchList(w, 'all').entry(1), 'batchLists'],
  openBatches: [keys.openBatches(w), 'batchLists'],
  operatorsOpenBatch: [keys.operatorsOpenBatch(id), 'operatorsOpenBatches'],
  operatorsWebhook: [keys.operatorsWebhook(w, at, id), 'operatorsWebhooks'],
  userRating: [keys.userRating(w, user, 1, 1), 'users'],
  userBatch: [keys.userBatch(w, user, at, id), 'users'],
  auditKey: [keys.auditKey(w), 'auditKeys', 'key'],
  operatorsErasure: [keys.operatorsErasure(w, '0'.repeat(64)), 'operatorsPurges'],
  operatorsPurge: [keys.operatorsPurge(at, w, 1), 'operatorsPurges'],
  operatorsRetention: [keys.operatorsRetention(w), 'operatorsRetention', 'days', 'walked_at', 'walked_to'],
  operatorsBatch: [keys.operatorsBatch(id), 'operatorsBatches'],
  audit: [keys.audit(w, at, id), 'audit'],
  operatorsAudit: [keys.operatorsAudit(at, id), 'operatorsAudit'],
  operatorsWorkspace: [keys.operatorsWorkspace(w)],
  operatorsAgent: [keys.operatorsAgent(id)],
  operatorsApiKey: [keys.operatorsApiKey('key')],
};

const writing = ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem'] as const;

for (const [{ pk }, kind, ...attributes] of Object.values(items))
  for (const action of writing) {
    const writes = ownersWith((needs) => kind !== undefined && (needs.writes?.[action] ?? []).includes(kind));
    const hasAttributes = action === 'PutItem' || action === 'UpdateItem';
    const context = (names: readonly string[]) => ({
      'dynamodb:leadingkeys': [pk],
      ...(hasAttributes && { 'dynamodb:attributes': ['pk', 'sk', ...names] }),
    });
    request(`dynamodb:${action}`, table, writes, context(kind === undefined ? ['name'] : attributes));
    // With an attribute more, such as one that opens a revoked key again.
    if (attributes.length > 0 || kind === undefined)
      request(`dynamodb:${action}`, table, undefined, context([...attributes, 'revoked_at']));
  }
for (const action of ['GetItem', 'BatchGetItem', 'Query', 'ConditionCheckItem'] as const)
  request(
    `dynamodb:${action}`,
    table,
    ownersWith(({ reads }) => reads.includes(action)),
  );

const objects = {
  content: [`contents/${w}/1`, `attachments/persistent/${w}/${id}/content.json`, `knowledge/${w}/index`],
  files: [`files/${w}/${id}`],
};
for (const bucket of ['content', 'files'] as const) {
  const bucketArn = arnOf(bucket === 'content' ? 'ContentBucket' : 'FileBucket');
  const actions = [
    'GetObject',
    'PutObject',
    'PutObjectTagging',
    'DeleteObject',
    'AbortMultipartUpload',
  ] as const;
  for (const action of actions)
    for (const name of objects[bucket])
      request(
        `s3:${action}`,
        `${bucketArn}/${name}`,
        ownersWith((needs) => (needs[bucket] ?? []).includes(action)),
      );
  request(
    's3:ListBucket',
    bucketArn,
    ownersWith((needs) => (needs[bucket] ?? []).includes('ListBucket')),
  );
  for (const action of ['DeleteBucket', 'PutBucketPolicy', 'PutLifecycleConfiguration', 'ListBucketVersions'])
    request(`s3:${action}`, bucketArn);
  for (const action of ['GetObjectVersion', 'DeleteObjectVersion', 'PutObjectAcl', 'GetObjectTagging'])
    request(`s3:${action}`, `${bucketArn}/${objects[bucket][0]}`);
}

const secretReaders = {
  OpenAiApiKey: ownersWith(({ model }) => model === true),
  OriginSecret: ownersWith(({ originSecret }) => originSecret === true),
  CallerSecret: ownersWith(({ signsCallers }) => signsCallers === true),
};
for (const secretId of sessions.idsOf('AWS::SecretsManager::Secret')) {
  // OriginSecret has a generation in its name.
  const [, readers] = Object.entries(secretReaders).find(([name]) => secretId.startsWith(name)) ?? [];
  if (readers === undefined) throw new Error(`Who may read ${secretId}?`);
  const secret = sessions.arnOf(secretId);
  request('secretsmanager:GetSecretValue', secret, readers);
  for (const action of ['PutSecretValue', 'UpdateSecret', 'DeleteSecret'])
    request(`secretsmanager:${action}`, secret);
}

const webhookKey = arn('AWS::KMS::Key', 'WebhookKey');
const contextOfKey = { 'kms:encryptioncontext:workspace': w, 'kms:encryptioncontext:batch': id };
for (const [action, owner] of [
  ['Encrypt', 'CreateBatch'],
  ['Decrypt', 'DeliverWebhook'],
] as const) {
  request(`kms:${action}`, webhookKey, among(owner), contextOfKey);
  request(`kms:${action}`, webhookKey);
  for (const [name, value] of Object.entries(contextOfKey))
    request(`kms:${action}`, webhookKey, undefined, { [name]: value });
}
for (const action of ['GenerateDataKey', 'CreateGrant', 'PutKeyPolicy', 'ScheduleKeyDeletion'])
  request(`kms:${action}`, webhookKey, undefined, contextOfKey);

const tasks = ['DispatchBatch', 'AdvanceBatch', 'FailBatch', 'DeliverWebhook'];
const ofGateway = ['AuthorizeRequest', ...Object.keys(routes).map(pascalCase)];
for (const name of functions) {
  const owner = name.replace(/[0-9A-F]{8}$/, '');
  const callsIt = (caller: string) =>
    (tasks.includes(owner) && caller === 'BatchesMachine') ||
    (ofGateway.includes(owner) && caller === 'ApiCaller') ||
    (owner === 'PrepareAttachment' &&
      ownersWith(({ model, files }) => model === true && files !== undefined)(caller));
  request('lambda:InvokeFunction', `${arnOf(name)}:live`, callsIt);
  request('lambda:InvokeFunction', arnOf(name));
  request('lambda:UpdateAlias', arnOf(name), among('Rollout'));
  for (const action of ['UpdateFunctionCode', 'UpdateFunctionConfiguration', 'AddPermission'])
    request(`lambda:${action}`, arnOf(name));
}
const own = functionOf('AuthorizeRequest');
for (const stage of ['production-eu', 'production2', 'productio', 'staging', 'of-a-long-name'])
  for (const suffix of ['', ':live'])
    for (const action of ['GetAlias', 'UpdateAlias', 'GetProvisionedConcurrencyConfig']) {
      const other = own.replace(/[^:]+$/, `agent-service-${stage}-AuthorizeRequest0A1B2C3D-0A1B2C3D4E5F`);
      request(`lambda:${action}`, other + suffix);
      request(`lambda:${action}`, `${own}-eu${suffix}`);
    }

const senders = {
  BatchesRequests: among('DispatchBatch', 'ProcessBatchItems', 'AdvanceBatch', 'ReconcileBatches'),
  PurgePurges: among('DeleteChat', 'EraseUser', 'DeleteUnusedChats', 'PurgeChat', 'ReconcileBatches'),
  PurgeDeadLetters: among(),
};
const receivers = {
  BatchesRequests: among('ProcessBatchItems'),
  PurgePurges: among('PurgeChat'),
  PurgeDeadLetters: among(),
};
for (const name of ['BatchesRequests', 'PurgePurges', 'PurgeDeadLetters'] as const) {
  const queue = arn('AWS::SQS::Queue', name);
  request('sqs:SendMessage', queue, senders[name]);
  for (const action of ['ReceiveMessage', 'DeleteMessage']) request(`sqs:${action}`, queue, receivers[name]);
  for (const action of ['PurgeQueue', 'DeleteQueue', 'SetQueueAttributes']) request(`sqs:${action}`, queue);
}

const machine = arn('AWS::StepFunctions::StateMachine', 'BatchesMachine');
request('states:StartExecution', machine, among('CreateBatch', 'ProcessBatchItems', 'ReconcileBatches'));
request(
  'states:SendTaskSuccess',
  machine,
  among('CancelBatch', 'DispatchBatch', 'ProcessBatchItems', 'ReconcileBatches'),
);
for (const action of ['UpdateStateMachine', 'DeleteStateMachine', 'SendTaskFailure'])
  request(`states:${action}`, machine);

const groupOf: Readonly<Record<string, string>> = { Chats: 'ServeChatsLogs', Uploads: 'ReceiveUploadsLogs' };
for (const group of idsOf('AWS::Logs::LogGroup')) {
  const isOwn = (owner: string) => group === (groupOf[owner] ?? `${owner}Logs`);
  const [stream, local] = [
    arnOf(group).replace('*', 'log-stream:one'),
    arnOf(group).replace(':*', '.local:log-stream:one'),
  ];
  for (const action of ['CreateLogStream', 'PutLogEvents']) {
    request(`logs:${action}`, stream, isOwn);
    request(`logs:${action}`, local, (owner) => owner in groupOf && isOwn(owner));
  }
  request(
    'logs:CreateLogGroup',
    local.replace(':log-stream:one', ''),
    (owner) => owner in groupOf && isOwn(owner),
  );
  for (const action of ['CreateLogGroup', 'DeleteLogGroup', 'GetLogEvents'])
    request(`logs:${action}`, stream);
}

for (const action of [
  ...['Scan', 'DeleteTable', 'UpdateTable', 'UpdateTimeToLive', 'CreateBackup', 'ExportTableToPointInTime'],
  ...['PartiQLInsert', 'PartiQLUpdate', 'PartiQLDelete', 'PartiQLSelect'],
])
  request(`dynamodb:${action}`, table, undefined, { 'dynamodb:leadingkeys': [keys.file(w, id).pk] });
for (const [action, resource] of [
  ['iam:PassRole', 'arn:aws:iam::000000000000:role/any'],
  ['iam:PutRolePolicy', 'arn:aws:iam::000000000000:role/any'],
  ['sts:AssumeRole', 'arn:aws:iam::000000000000:role/any'],
  ['cloudformation:UpdateStack', 'arn:aws:cloudformation:us-east-1:000000000000:stack/any/1'],
  ['ssm:GetParameter', 'arn:aws:ssm:us-east-1:000000000000:parameter/any'],
] as const)
  request(action, resource);

const isAllowed = ({ owner, ...needed }: Pair): boolean => allows.get(owner)?.(needed) === true;
const textOf = ({ owner, action, resource, context }: Pair): string =>
  `${owner} ${action} ${resource} ${JSON.stringify(context)}`;

test('each role is denied everything that it does not need', () => {
  const forbidden = pairs.filter(({ isNeeded }) => !isNeeded);
  console.log(
    `${forbidden.length} forbidden pairs of a role and a permission asked, of ${owners.length} roles`,
  );
  expect(forbidden.length).toBeGreaterThanOrEqual(200);
  expect(forbidden.filter(isAllowed).map(textOf)).toEqual([]);
});

test('each role is allowed what it needs, of the same questions', () => {
  const needed = pairs.filter(({ isNeeded }) => isNeeded);
  expect(needed.length).toBeGreaterThan(200);
  expect(needed.filter((pair) => !isAllowed(pair)).map(textOf)).toEqual([]);
});

/** Written out, because the function table must not widen it unseen. */
test('functions write exactly these of the keys and of the items of operators', () => {
  const written = pairs
    .filter(({ action }) => writing.some((each) => action === `dynamodb:${each}`))
    .flatMap((pair) => {
      const [pk = ''] = [pair.context?.['dynamodb:leadingkeys'] ?? []].flat();
      return /^(KEY|OPERATOR)#/.test(pk) && isAllowed(pair)
        ? [`${pair.owner} ${pair.action.slice('dynamodb:'.length)} ${pk.replace(/#([0-9a-f-]{36,})$/, '')}`]
        : [];
    });
  expect([...new Set(written)].toSorted()).toEqual(
    [
      'AuthorizeRequest UpdateItem KEY',
      'Uploads UpdateItem KEY',
      'CreateBatch PutItem OPERATOR#BATCH',
      'CreateBatch PutItem OPERATOR#OPEN-BATCHES',
      ...['AdvanceBatch', 'FailBatch'].flatMap((end) => [
        `${end} DeleteItem OPERATOR#OPEN-BATCHES`,
        `${end} PutItem OPERATOR#WEBHOOKS`,
      ]),
      'ReconcileBatches DeleteItem OPERATOR#OPEN-BATCHES',
      'ReconcileBatches DeleteItem OPERATOR#WEBHOOKS',
      'ReconcileBatches PutItem OPERATOR#WEBHOOKS',
      'ReconcileBatches UpdateItem OPERATOR#PURGES',
      'DeleteChat PutItem OPERATOR#PURGES',
      'DeleteUnusedChats PutItem OPERATOR#PURGES',
      'DeleteUnusedChats UpdateItem OPERATOR#RETENTION',
      'EraseUser PutItem OPERATOR#AUDIT',
      'EraseUser PutItem OPERATOR#PURGES',
      'PurgeChat DeleteItem OPERATOR#PURGES',
      'PurgeChat PutItem OPERATOR#PURGES',
      'PurgeChat UpdateItem OPERATOR#PURGES',
    ].toSorted(),
  );
});

test('the function that parses files is allowed nothing but its own log and traces', () => {
  const allowed = pairs.filter((pair) => pair.owner === 'PrepareAttachment' && isAllowed(pair));
  expect(
    allowed.map(textOf).every((text) => /^PrepareAttachment logs:\w+ .*PrepareAttachmentLogs/.test(text)),
  ).toBe(true);
  expect(allowed).toHaveLength(2);
});
