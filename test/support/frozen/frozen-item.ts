import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** An item as DynamoDB returns it, with the type of each value. */
export type FrozenItem = Record<string, AttributeValue> & Record<'pk' | 'sk', { S: string }>;
