import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * `identifiers` (runtime/environment/invocation-context.ts) makes all ids of workspaces, of one length. So the pattern
 * matches no longer key.
 */
const workspace = `W#ws_${'?'.repeat(17)}`;

/**
 * The items that functions write, as patterns of partition keys (adapters/dynamo/table/keys.ts). Only operators write
 * `whitelists`, and the items that are not here: workspaces, agents and their knowledge. Of the items in the same
 * partitions as those, and of API keys, functions write only the named `attributes`.
 */
const kinds = {
  audit: { keys: `${workspace}#AUDIT` },
  /** For the hashes of users in the audit log. */
  auditKeys: { keys: workspace, attributes: ['key'] },
  /** For the day of its last use. */
  apiKeys: { keys: 'KEY#*', attributes: ['last_used_on'] },
  batches: { keys: `${workspace}#B#*` },
  /** Entries and counts. */
  batchLists: { keys: `${workspace}#BATCHES*` },
  /** Entries and counts of all chats, and of each agent's. */
  chatLists: { keys: `${workspace}#CHATS*` },
  /** Chats with their messages, events, and feedback. */
  chats: { keys: `${workspace}#C#*` },
  files: { keys: `${workspace}#FILE#*` },
  /** The last numbers of chats and batches. */
  lastNumbers: { keys: `${workspace}#IDS` },
  idempotencyRecords: { keys: `${workspace}#REQUEST#*` },
  operatorsAudit: { keys: 'OPERATOR#AUDIT' },
  operatorsBatches: { keys: 'OPERATOR#BATCH#*' },
  operatorsOpenBatches: { keys: 'OPERATOR#OPEN-BATCHES' },
  operatorsPurges: { keys: 'OPERATOR#PURGES' },
  /** For the progress of a walk. `days` is only in the condition of the write. */
  operatorsRetention: { keys: 'OPERATOR#RETENTION', attributes: ['days', 'walked_at', 'walked_to'] },
  operatorsWebhooks: { keys: 'OPERATOR#WEBHOOKS' },
  slotReports: { keys: 'SLOTS' },
  rateBuckets: { keys: `${workspace}#RATE#*` },
  usage: { keys: `${workspace}#USAGE` },
  /** What users have: entries and counts of their chats, their ratings, and their requests in batches. */
  users: { keys: `${workspace}#USER*` },
  whitelists: { keys: `${workspace}#WHITELIST` },
} as const satisfies Record<string, { keys: string; attributes?: readonly string[] }>;

export type ItemKind = keyof typeof kinds;

/** The kinds of items that a function writes, by the action. A transaction needs the permissions of its single actions. */
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
            // The attributes of the key are in the list, because DynamoDB counts them too.
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
