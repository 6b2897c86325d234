import { expect, test } from 'vitest';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { routes } from '#contract/routes.ts';
import { isChatRoute } from '#lib/chat-routes.ts';
import { pascalCase } from '#lib/function-names.ts';
import type { ItemKind } from '#lib/written-items.ts';
import type { Permission } from '#local/iam/access-rules.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { openSessions } from './sessions.ts';
import { synthesize } from './synthesize.ts';

const toolFunction = 'arn:aws:lambda:us-east-1:123456789012:function:orders:live';
const sessions = await openSessions(
  synthesize({
    settings: {
      bothEntryPoints: true,
      webSearch: { provider: 'brave' },
      openAiEndpoints: { groq: { url: 'https://api.groq.com/openai/v1' } },
      bedrockModels: ['deepseek.v3.2'],
      bedrockKnowledgeBases: ['ABCDE12345'],
      toolFunctions: [toolFunction],
    },
  }).template,
);
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

const among =
  (...names: string[]) =>
  (owner: string) =>
    names.includes(owner);

type Write = 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'BatchWriteItem';

const routeOwners = Object.keys(routes).map(pascalCase);
/** They read large lists, whose clients may be slow. */
const lists = [
  'ListModels',
  'ListPublishedAgents',
  'ListChats',
  'ListMessages',
  'ListBatches',
  'ListBatchResults',
];
const repliers = ['Chats', 'SendMessage', 'ProcessBatchItems'];
const callersOfModels = [...repliers, 'CompleteChat', 'TestAgent'];
const creators = ['Chats', 'CreateChat', 'ProcessBatchItems'];
const ends = ['AdvanceBatch', 'FailBatch'];
const deletions = ['DeleteChat', 'DeleteUnusedChats', 'PurgeChat'];

/** Who may write each kind of item, and how: said once more, so that no capability widens it unseen. */
const writersOf: Readonly<Record<ItemKind, Partial<Record<Write, readonly string[]>>>> = {
  apiKeys: { UpdateItem: ['AuthorizeRequest', 'Uploads'] },
  audit: { PutItem: ['EraseUser'] },
  auditKeys: { PutItem: ['EraseUser'] },
  batches: {
    PutItem: ['CreateBatch', 'ProcessBatchItems', 'DispatchBatch', 'DeliverWebhook', ...ends],
    UpdateItem: [
      'CancelBatch',
      'ProcessBatchItems',
      'DispatchBatch',
      'ReconcileBatches',
      'PurgeChat',
      ...ends,
    ],
    BatchWriteItem: ['CreateBatch'],
  },
  batchLists: { PutItem: ['CreateBatch', ...ends], UpdateItem: ['CreateBatch', ...ends], DeleteItem: ends },
  chatLists: { PutItem: creators, UpdateItem: [...creators, ...deletions], DeleteItem: deletions },
  chats: {
    PutItem: [...repliers, 'CreateChat', 'RecordFeedback', ...ends],
    UpdateItem: [...repliers, 'RenameChat', 'StopReply', 'RecordFeedback', 'PurgeChat', ...ends],
    DeleteItem: [...repliers, ...deletions],
    BatchWriteItem: ['CreateBatch', 'PurgeChat'],
  },
  files: {
    PutItem: ['UploadFile', 'Uploads'],
    UpdateItem: [...repliers, 'DeleteFile', 'PurgeChat'],
    DeleteItem: repliers,
    BatchWriteItem: ['DeleteFile', 'PurgeChat'],
  },
  idempotencyRecords: { PutItem: ['Chats', 'CreateChat', 'SendMessage', 'CreateBatch'] },
  lastNumbers: { UpdateItem: [...creators, 'CreateBatch'] },
  operatorsAudit: { PutItem: ['EraseUser'] },
  operatorsBatches: { PutItem: ['CreateBatch'] },
  operatorsOpenBatches: { PutItem: ['CreateBatch'], DeleteItem: [...ends, 'ReconcileBatches'] },
  operatorsPurges: {
    PutItem: [...deletions, 'EraseUser'],
    UpdateItem: ['PurgeChat', 'ReconcileBatches'],
    DeleteItem: ['PurgeChat'],
  },
  operatorsRetention: { UpdateItem: ['DeleteUnusedChats'] },
  operatorsWebhooks: { PutItem: [...ends, 'ReconcileBatches'], DeleteItem: ['ReconcileBatches'] },
  rateBuckets: { UpdateItem: [...routeOwners, ...repliers, 'TestAgent', 'Uploads'] },
  slotReports: { PutItem: [...lists, ...repliers, 'DeliverWebhook', 'Uploads'] },
  usage: { UpdateItem: [...callersOfModels, 'UploadFile', 'Uploads'] },
  users: {
    PutItem: [...creators, 'RecordFeedback'],
    UpdateItem: [...creators, ...deletions],
    DeleteItem: deletions,
    BatchWriteItem: ['CreateBatch', 'PurgeChat'],
  },
  whitelists: {},
};

const owner = {
  ofGateway: ['Api', 'ApiCaller', 'BatchesMachine', 'Rollout'],
  readsNothing: ['PrepareAttachment', 'UploadFile'],
  readsSingleItems: ['EraseUser', 'DeleteFile', 'DispatchBatch', 'GetModel', 'RejectOpenaiPath'],
};
/** Which functions read the table how: reads are allowed on all items. */
const readersOf: Readonly<Record<string, (owner: string) => boolean>> = {
  GetItem: (name) => !among(...owner.ofGateway, ...owner.readsNothing)(name),
  BatchGetItem: (name) => !among(...owner.ofGateway, ...owner.readsNothing, ...owner.readsSingleItems)(name),
  Query: among(
    ...[
      ...lists,
      ...repliers,
      ...ends,
      'EraseUser',
      'DeleteFile',
      'PurgeChat',
      'DeleteUnusedChats',
      'GetBatch',
    ],
    ...['CancelBatch', 'ListModels', 'ResumeStream', 'DeliverWebhook', 'ReconcileBatches', 'Uploads'],
  ),
  ConditionCheckItem: among('RecordFeedback'),
};

const objectUsers: Readonly<Record<'content' | 'files', Readonly<Record<string, readonly string[]>>>> = {
  content: {
    GetObject: [...callersOfModels, 'ListMessages', 'ListBatchResults'],
    ListBucket: [...callersOfModels, 'PurgeChat'],
    PutObject: repliers,
    DeleteObject: [...repliers, 'DeleteFile', 'PurgeChat'],
  },
  files: {
    GetObject: [...repliers, 'ListMessages', 'UploadFile', 'Uploads'],
    ListBucket: repliers,
    PutObject: ['UploadFile', 'Uploads'],
    PutObjectTagging: ['UploadFile', 'Uploads'],
    DeleteObject: ['UploadFile', 'Uploads', 'DeleteFile', 'PurgeChat'],
    AbortMultipartUpload: ['Uploads'],
  },
};

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
  toolSecret: [keys.toolSecret(w, 'crm')],
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
  batchFormat: [keys.batchFormat(w, id), 'batches'],
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
  operatorsPrices: [keys.operatorsPrices()],
  operatorsWorkspace: [keys.operatorsWorkspace(w)],
  operatorsAgent: [keys.operatorsAgent(id)],
  operatorsApiKey: [keys.operatorsApiKey('key')],
};

const writing = ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem'] as const;

for (const [{ pk }, kind, ...attributes] of Object.values(items))
  for (const action of writing) {
    const writes = among(...((kind && writersOf[kind][action]) ?? []));
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
  request(`dynamodb:${action}`, table, readersOf[action]);

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
      request(`s3:${action}`, `${bucketArn}/${name}`, among(...(objectUsers[bucket][action] ?? [])));
  request('s3:ListBucket', bucketArn, among(...(objectUsers[bucket].ListBucket ?? [])));
  for (const action of ['DeleteBucket', 'PutBucketPolicy', 'PutLifecycleConfiguration', 'ListBucketVersions'])
    request(`s3:${action}`, bucketArn);
  for (const action of ['GetObjectVersion', 'DeleteObjectVersion', 'PutObjectAcl', 'GetObjectTagging'])
    request(`s3:${action}`, `${bucketArn}/${objects[bucket][0]}`);
}

const secretReaders = {
  // Also that of a named endpoint.
  OpenAiApiKey: among(...callersOfModels),
  BraveApiKey: among(...callersOfModels),
  OriginSecret: among(...lists.slice(2), 'Uploads'),
  CallerSecret: among('AuthorizeRequest', 'Chats'),
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

const toolKey = arn('AWS::KMS::Key', 'ToolSecretKey');
const contextOfTool = {
  ...{ 'kms:encryptioncontext:workspace': w, 'kms:encryptioncontext:secret': 'crm' },
  'kms:encryptioncontext:hosts': 'mcp.crm.example:443',
};
request('kms:Decrypt', toolKey, among(...callersOfModels), contextOfTool);
request('kms:Decrypt', toolKey, undefined, contextOfKey);
for (const [name, value] of Object.entries(contextOfTool))
  request('kms:Decrypt', toolKey, undefined, { [name]: value });
for (const action of ['Encrypt', 'GenerateDataKey', 'CreateGrant', 'PutKeyPolicy', 'ScheduleKeyDeletion'])
  request(`kms:${action}`, toolKey, undefined, contextOfTool);

const bedrock = 'arn:aws:bedrock:us-east-1:';
for (const action of ['InvokeModel', 'InvokeModelWithResponseStream']) {
  request(`bedrock:${action}`, `${bedrock}:foundation-model/deepseek.v3.2`, among(...callersOfModels));
  request(`bedrock:${action}`, `${bedrock}:foundation-model/deepseek.v3.1`);
}
request('bedrock:Retrieve', `${bedrock}000000000000:knowledge-base/ABCDE12345`, among(...callersOfModels));
request('bedrock:Retrieve', `${bedrock}000000000000:knowledge-base/FGHIJ67890`);
request('lambda:InvokeFunction', toolFunction, among(...callersOfModels));
for (const other of ['orders', 'orders:7', 'refunds:live'])
  request('lambda:InvokeFunction', toolFunction.replace('orders:live', other));

const tasks = ['DispatchBatch', 'AdvanceBatch', 'FailBatch', 'DeliverWebhook'];
/** Functions that the gateway calls: its requests to the others go to the web function. */
const ofGateway = ['authorize-request', ...Object.keys(routes).filter((name) => !isChatRoute(name))].map(
  pascalCase,
);
for (const name of functions) {
  const owner = name.replace(/[0-9A-F]{8}$/, '');
  const callsIt = (caller: string) =>
    (tasks.includes(owner) && caller === 'BatchesMachine') ||
    (ofGateway.includes(owner) && caller === 'ApiCaller') ||
    (owner === 'PrepareAttachment' && repliers.includes(caller));
  request('lambda:InvokeFunction', `${arnOf(name)}:live`, callsIt);
  request('lambda:InvokeFunction', arnOf(name));
  request('lambda:UpdateAlias', arnOf(name), among('Rollout'));
  request('lambda:GetProvisionedConcurrencyConfig', `${arnOf(name)}:live`, among('Rollout'));
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

test('the function that parses files is allowed nothing but its own log and traces', () => {
  const allowed = pairs.filter((pair) => pair.owner === 'PrepareAttachment' && isAllowed(pair));
  expect(
    allowed.map(textOf).every((text) => /^PrepareAttachment logs:\w+ .*PrepareAttachmentLogs/.test(text)),
  ).toBe(true);
  expect(allowed).toHaveLength(2);
});
