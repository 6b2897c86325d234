import type { Permission } from './access-rules.ts';

/** What a service asks of a customer's key in its caller's name. */
const KEY_ACTIONS: Readonly<Record<string, readonly string[]>> = {
  's3:GetObject': ['kms:Decrypt'],
  // Of an upload in parts the earlier ones are read again.
  's3:PutObject': ['kms:GenerateDataKey', 'kms:Decrypt'],
  'secretsmanager:GetSecretValue': ['kms:Decrypt'],
  'sqs:ReceiveMessage': ['kms:Decrypt'],
  'sqs:SendMessage': ['kms:GenerateDataKey', 'kms:Decrypt'],
};

/** What a call also needs when a key of the customer's own encrypts its resource. */
export function keyUses(
  { action }: Permission,
  keyArn: string | undefined,
  region: string,
): readonly Permission[] {
  if (keyArn === undefined) return [];
  const [service = ''] = action.split(':');
  // DynamoDB opens the table's own key for each who uses the table.
  const actions = KEY_ACTIONS[action] ?? (service === 'dynamodb' ? ['kms:Decrypt'] : []);
  const context = { 'kms:viaservice': `${service}.${region}.amazonaws.com` };
  return actions.map((keyAction) => ({ action: keyAction, resource: keyArn, context }));
}
