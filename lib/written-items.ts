import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * The pattern of a workspace's partition key. All ids of workspaces have one length, because `identifiers`
 * (runtime/environment/invocation-context.ts) makes them. So the pattern does not match a longer key.
 */
const workspace = `W#ws_${'?'.repeat(17)}`;

/**
 * The kinds of items that functions write, with patterns of their partition keys (adapters/dynamo/table/keys.ts). Only
 * operators write `whitelists`, and items that are not here, such as workspaces, agents and their knowledge. If a
 * partition also has such items, and for API keys, functions may write only the named `attributes`.
 */
const kinds = {
  audit: { keys: `${workspace}#AUDIT` },
  /** The secret keys of the hashes of users in the audit log. */
  auditKeys: { keys: workspace, attributes: ['key'] },
  /** API keys: only the day of their last use. */
  apiKeys: { keys: 'KEY#*', attributes: ['last_used_on'] },
  batches: { keys: `${workspace}#B#*` },
  /** The entries and counts of the lists of batches. */
  batchLists: { keys: `${workspace}#BATCHES*` },
  /** The entries and counts of the lists of all chats, and of each agent's chats. */
  chatLists: { keys: `${workspace}#CHATS*` },
  /** Chats with what belongs to them, such as messages and feedback. */
  chats: { keys: `${workspace}#C#*` },
  files: { keys: `${workspace}#FILE#*` },
  /** The last numbers of chats and batches. */
  lastNumbers: { keys: `${workspace}#IDS` },
  idempotencyRecords: { keys: `${workspace}#REQUEST#*` },
  operatorsAudit: { keys: 'OPERATOR#AUDIT' },
  operatorsBatches: { keys: 'OPERATOR#BATCH#*' },
  operatorsOpenBatches: { keys: 'OPERATOR#OPEN-BATCHES' },
  operatorsPurges: { keys: 'OPERATOR#PURGES' },
  /** The progress of a walk through a workspace's chats. `days` is only in the condition of the write. */
  operatorsRetention: { keys: 'OPERATOR#RETENTION', attributes: ['days', 'walked_at', 'walked_to'] },
  operatorsWebhooks: { keys: 'OPERATOR#WEBHOOKS' },
  slotReports: { keys: 'SLOTS' },
  rateBuckets: { keys: `${workspace}#RATE#*` },
  usage: { keys: `${workspace}#USAGE` },
  /** What users have, such as the entries and counts of their chats. */
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
