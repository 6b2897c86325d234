import {
  always,
  counted,
  every,
  failing,
  gone,
  hour,
  night,
  noon,
  plus,
  type Situations,
  share,
} from './normal-day.ts';

const crashes = (name: string, fires: readonly string[]): Situations => ({
  [`${name} crashes`]: {
    changes: { [`Lambda Errors ${name}`]: plus(2) },
    fires,
    ...(fires.length > 0 && { stopsRollouts: true }),
  },
});

const stays = (value: number) => (from: number) => (minute: number) => value + (minute - from) * 60;

/** Situations of functions, batches, purges and data. */
export const workSituations: Situations = {
  'the event source mapping is disabled': {
    trouble: [noon, noon + 8 * hour],
    changes: {
      'own OldestRequestWait': stays(300)(noon),
      'own BatchRequestsDone': gone,
      'SQS ApproximateNumberOfMessagesVisible BatchesRequests': always(5000),
    },
    fires: ['RequestsWait'],
  },
  'large batches, whose requests wait for five hours as they should': {
    trouble: [noon, noon + 12 * hour],
    changes: {
      'own OldestRequestWait': always(5 * 3600),
      'SQS ApproximateNumberOfMessagesVisible BatchesRequests': always(20_000),
    },
    fires: [],
  },
  'the table is throttled': {
    changes: {
      'DynamoDB ReadThrottleEvents': always(400),
      ...failing(0.02),
      'Lambda/Web HTTPResponseStatusClass5XX chats': always(2),
    },
    fires: ['TableThrottled', 'GatewayErrors', 'DistributionErrors'],
    stopsRollouts: true,
  },
  'only writes of the table are throttled, and retries help': {
    changes: { 'DynamoDB WriteThrottleEvents': always(20) },
    fires: ['TableThrottled'],
  },
  'DynamoDB has errors of its own': {
    changes: { 'DynamoDB SystemErrors UpdateItem': always(5) },
    fires: ['TableErrors'],
  },
  'three receivers of webhooks are dead': {
    trouble: [noon, noon + 10 * hour],
    changes: {
      'own WebhooksExhausted': every(17, 1),
      'Lambda Throttles DeliverWebhook': plus(4),
    },
    fires: ['WebhooksGivenUp'],
  },
  'a purge that fails for six hours, and whose dead letters stay': {
    trouble: [noon, noon + 6 * hour],
    changes: {
      'own OverduePurges': always(1),
      'SQS ApproximateNumberOfMessagesVisible PurgeDeadLetters': always(3),
    },
    fires: ['PurgesOverdue'],
  },
  'an account of 10, overloaded': {
    settings: { accountConcurrency: 10 },
    trouble: [night, night + 30],
    changes: {
      'Lambda ClaimedAccountConcurrency': always(10),
      'Lambda Throttles AuthorizeRequest': always(8),
      'Lambda Throttles ProcessBatchItems': always(20),
      'ApiGateway 5XXError': always(10),
      'ApiGateway Count': always(counted(60)),
      'CloudFront Requests': always(60),
      'CloudFront 5xxErrorRate': always([{ value: (100 * 10) / 60, count: 60 }]),
    },
    fires: ['ConcurrencyNearItsLimit', 'FunctionsThrottled', 'GatewayErrors', 'DistributionErrors'],
    stopsRollouts: true,
  },
  'another stack uses up the account, and is throttled': {
    changes: { 'Lambda ClaimedAccountConcurrency': always(995), 'Lambda Throttles': always(500) },
    fires: ['ConcurrencyNearItsLimit'],
  },
  'all executions of deliver-webhook are in use for long': {
    changes: { 'Lambda Throttles DeliverWebhook': always(30) },
    fires: ['FunctionsThrottled'],
  },
  ...crashes('ListMessages', ['ChatFunctionErrors']),
  ...crashes('PrepareAttachment', ['FileAndDeletionFunctionErrors']),
  ...crashes('ListModels', ['CompletionFunctionErrors']),
  ...crashes('GetBatch', ['BatchRouteFunctionErrors']),
  ...crashes('AdvanceBatch', ['BatchWorkFunctionErrors']),
  // It fails for every unknown key.
  ...crashes('AuthorizeRequest', []),
  'the code that replies crashes': {
    changes: {
      'Lambda/Web HTTPResponseStatusClass5XX chats': share(0.05),
      'Lambda Errors SendMessage': share(0.05),
      ...failing(0.05),
    },
    fires: {
      all: ['WebFunctionErrors', 'GatewayErrors', 'DistributionErrors'],
      uploads: ['ChatFunctionErrors', 'GatewayErrors', 'DistributionErrors'],
      none: ['ChatFunctionErrors', 'GatewayErrors'],
    },
    stopsRollouts: true,
  },
  'the reconciler stops': {
    trouble: [noon, noon + 40],
    changes: {
      'Lambda Invocations ReconcileBatches': gone,
      'Lambda Errors ReconcileBatches': gone,
      'own OldestRequestWait': gone,
      'own OverdueBatches': gone,
      'own OverduePurges': gone,
    },
    fires: ['ReconcilerSilent'],
  },
  'the reconciler fails': {
    trouble: [noon, noon + 40],
    changes: {
      'Lambda Errors ReconcileBatches': always(1),
      'own OldestRequestWait': gone,
      'own OverdueBatches': gone,
      'own OverduePurges': gone,
    },
    fires: ['ReconcilerSilent', 'BatchWorkFunctionErrors'],
    stopsRollouts: true,
  },
  'the hourly deletion of unused chats stops': {
    trouble: [noon, noon + 6 * hour],
    minutes: noon + 12 * hour,
    changes: {
      'Lambda Invocations DeleteUnusedChats': gone,
      'Lambda Errors DeleteUnusedChats': gone,
    },
    fires: ['RetentionSilent'],
  },
  'the hourly deletion of unused chats fails': {
    trouble: [noon, noon + 6 * hour],
    minutes: noon + 12 * hour,
    changes: { 'Lambda Errors DeleteUnusedChats': every(hour, 1, 7) },
    fires: ['RetentionSilent'],
  },
  'requests kill their workers': {
    trouble: [noon, noon + 30],
    changes: {
      'Lambda Errors ProcessBatchItems': every(2, 1),
    },
    fires: ['BatchWorkFunctionErrors'],
    stopsRollouts: true,
  },
  'an execution of the workflow fails': {
    trouble: [noon, noon + 1],
    changes: { 'States ExecutionsFailed': always(1) },
    fires: ['ExecutionsFailed'],
  },
  'an execution of the workflow times out': {
    trouble: [noon, noon + 1],
    changes: { 'States ExecutionsTimedOut': always(1) },
    fires: ['ExecutionsFailed'],
  },
  'batches stay open after they have expired': {
    trouble: [noon, noon + hour],
    changes: { 'own OverdueBatches': always(2) },
    fires: ['BatchesOverdue'],
  },
};
