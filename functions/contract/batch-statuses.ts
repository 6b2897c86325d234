export const batchStatuses = ['in_progress', 'completed', 'failed', 'cancelling', 'cancelled'] as const;
export type BatchStatus = (typeof batchStatuses)[number];

export const batchResultStatuses = ['pending', 'processing', 'success', 'failed'] as const;
export type BatchResultStatus = (typeof batchResultStatuses)[number];

export const webhookEvents = ['completed', 'failed', 'cancelled'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];
