import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/** All ids of workspaces have 17 characters after `ws_`. With `*`, the pattern would also match longer keys. */
const workspace = `W#ws_${'?'.repeat(17)}`;

/**
 * Patterns of partition keys (functions/adapters/dynamo/table/keys.ts). If `attributes` are given, functions may write
 * only these and the key.
 */
const kinds = {
  audit: { keys: `${workspace}#AUDIT` },
  auditKeys: { keys: workspace, attributes: ['key'] },
  apiKeys: { keys: 'KEY#*', attributes: ['last_used_on'] },
  batches: { keys: `${workspace}#B#*` },
  batchLists: { keys: `${workspace}#BATCHES*` },
  chatLists: { keys: `${workspace}#CHATS*` },
  chats: { keys: `${workspace}#C#*` },
  files: { keys: `${workspace}#FILE#*` },
  lastNumbers: { keys: `${workspace}#IDS` },
  idempotencyRecords: { keys: `${workspace}#REQUEST#*` },
  operatorsAudit: { keys: 'OPERATOR#AUDIT' },
  operatorsBatches: { keys: 'OPERATOR#BATCH#*' },
  operatorsOpenBatches: { keys: 'OPERATOR#OPEN-BATCHES' },
  operatorsPurges: { keys: 'OPERATOR#PURGES' },
  /** `days` is only in the condition of the write. */
  operatorsRetention: { keys: 'OPERATOR#RETENTION', attributes: ['days', 'walked_at', 'walked_to'] },
  operatorsWebhooks: { keys: 'OPERATOR#WEBHOOKS' },
  slotReports: { keys: 'SLOTS' },
  rateBuckets: { keys: `${workspace}#RATE#*` },
  usage: { keys: `${workspace}#USAGE` },
  users: { keys: `${workspace}#USER*` },
  whitelists: { keys: `${workspace}#WHITELIST` },
} as const satisfies Record<string, { keys: string; attributes?: readonly string[] }>;

export type ItemKind = keyof typeof kinds;

/** A transaction needs the permissions of its single actions. */
export type Writes = Readonly<
  Partial<Record<'PutItem' | 'UpdateItem' | 'DeleteItem' | 'BatchWriteItem', readonly ItemKind[]>>
>;

export const writeStatements = (table: ITableV2, writes: Writes): PolicyStatement[] =>
  Object.entries(writes).flatMap(([action, written]) => {
    const allow = (keys: string[], attributes?: readonly string[]) =>
      new PolicyStatement({
        actions: [`dynamodb:${action}`],
        resources: [table.tableArn],
        conditions: {
          'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys },
          ...(attributes && {
            // DynamoDB counts the attributes of the key too.
            'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['pk', 'sk', ...attributes] },
          }),
        },
      });
    const items: { keys: string; attributes?: readonly string[] }[] = written.map((kind) => kinds[kind]);
    const whole = items.filter(({ attributes }) => attributes === undefined).map(({ keys }) => keys);
    return [
      ...(whole.length > 0 ? [allow(whole)] : []),
      ...items.flatMap(({ keys, attributes }) => (attributes ? [allow([keys], attributes)] : [])),
    ];
  });
