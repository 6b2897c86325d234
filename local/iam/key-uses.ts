import type { Permission } from './access-rules.ts';

/** The actions on a customer managed key that the callers of these actions need too. */
const KEY_ACTIONS: Readonly<Record<string, readonly string[]>> = {
  's3:GetObject': ['kms:Decrypt'],
  // Decrypt is needed for multipart uploads: S3 reads their parts.
  's3:PutObject': ['kms:GenerateDataKey', 'kms:Decrypt'],
  'secretsmanager:GetSecretValue': ['kms:Decrypt'],
  'sqs:ReceiveMessage': ['kms:Decrypt'],
  'sqs:SendMessage': ['kms:GenerateDataKey', 'kms:Decrypt'],
};

export function keyUses(
  { action }: Permission,
  keyArn: string | undefined,
  region: string,
): readonly Permission[] {
  if (keyArn === undefined) return [];
  const [service = ''] = action.split(':');
  // DynamoDB decrypts the table's key with the caller's permissions.
  const actions = KEY_ACTIONS[action] ?? (service === 'dynamodb' ? ['kms:Decrypt'] : []);
  const context = { 'kms:viaservice': `${service}.${region}.amazonaws.com` };
  return actions.map((keyAction) => ({ action: keyAction, resource: keyArn, context }));
}
