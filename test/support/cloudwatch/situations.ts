import type { Datum } from './metric-data.ts';

/** The values of `webFunctions`. */
export const forms = ['all', 'uploads', 'none'] as const;
export type Form = (typeof forms)[number];

/** The value of a metric in a minute, given its value on a normal day. */
type Change = (minute: number, normal: Datum | undefined) => Datum | undefined;

/** Changes by metric: its namespace without `AWS/`, its name, and what its dimensions tell apart. */
type Changes = Readonly<Record<string, Change>>;

export interface Situation {
  title: string;
  /** Minutes from the start of a normal day at which the trouble starts and ends. The day has its peak at noon. */
  trouble: readonly [from: number, to: number];
  /** Minutes in all. By default there are four normal hours after the trouble. */
  minutes?: number;
  changes: Changes;
  /** The alarms that go off. Those that a form does not have are left out. */
  fires: readonly string[] | Readonly<Record<Form, readonly string[]>>;
  /** Alarms that stop a roll-out go off. */
  stopsRollouts?: true;
  settings?: Readonly<Record<string, unknown>>;
}

const hour = 60;
const day = 24 * hour;
const [night, noon] = [hour, 12 * hour];

const every = (minutes: number, value: Datum, offset = 0): Change => {
  const isNow = (minute: number) => minute % minutes === offset;
  return (minute) => (isNow(minute) ? value : undefined);
};
const always =
  (value: Datum): Change =>
  () =>
    value;
const gone: Change = () => undefined;
const plus =
  (more: number): Change =>
  (_minute, normal = 0) =>
    (typeof normal === 'number' ? normal : 0) + more;
/** Changes in the first minutes of the trouble alone. */
const once =
  (from: number, minutes: number, change: Change): Change =>
  (minute, normal) =>
    minute < from + minutes ? change(minute, normal) : normal;

/** Requests in a minute: three at night, 600 at noon. */
const requests = (minute: number): number =>
  Math.max(3, Math.round(600 * Math.sin(((minute % day) / day) * Math.PI) ** 6));
/** A metric of single requests, whose number is that of its samples. */
const counted = (count: number): Datum => [{ value: 1, count }];
const share = (part: number) => (minute: number) => Math.round(requests(minute) * part);

/** Times to the first delta: most replies start after a second, some after four, and one an hour after 40 s. */
const firstDeltas: Change = (minute) => {
  const count = share(0.3)(minute);
  return [
    { value: 900, count },
    { value: 4000, count: Math.round(count * 0.04) },
    { value: 40_000, count: minute % hour === 30 ? 1 : 0 },
  ];
};

/** Requests and errors of CloudFront in a minute, as its rate of errors. */
const errorRate = (errors: number) => (minute: number) => [
  { value: (100 * errors) / requests(minute), count: requests(minute) },
];
const strayErrors = (minute: number) => (minute % 13 === 0 ? 1 : 0);

/**
 * A normal day with its normal errors: single responses with 5xx, unknown keys, at which the authorizer fails, some
 * throttled calls, single crashes, models that fail now and then, a scanner, clients beyond their rate limit.
 */
export const normalDay = ({
  accountConcurrency,
  reserved,
}: {
  accountConcurrency: number;
  reserved: number;
}): Changes => ({
  'ApiGateway Count': (minute) => counted(requests(minute)),
  'ApiGateway 5XXError': (minute) => (minute % 47 === 0 ? 3 : strayErrors(minute)),
  'own ModelErrorResponses': every(13, 1),
  'own Errors 10029': share(0.02),
  // The gateway limits a burst of one client for a minute, every two hours.
  'own Responses429': (minute) => share(0.02)(minute) + (minute % (2 * hour) === 50 ? 60 : 0),
  'own RejectedKeys unknown': always(4),
  'Lambda Errors AuthorizeRequest': always(4),
  'Lambda Errors SendMessage': every(8 * hour, 1, 17),
  'Lambda Errors ListChats': every(12 * hour, 1, 200),
  'Lambda Errors ProcessBatchItems': every(6 * hour, 1, 40),
  'Lambda Errors ReconcileBatches': always(0),
  'Lambda Errors DeleteUnusedChats': (minute) =>
    minute % hour === 7 ? (minute === 4 * hour + 7 ? 1 : 0) : undefined,
  'Lambda Invocations ReconcileBatches': always(1),
  'Lambda Invocations DeleteUnusedChats': every(hour, 1, 7),
  'Lambda Throttles ProcessBatchItems': every(hour, 3, 12),
  'Lambda Throttles PrepareAttachment': every(2 * hour, 25, 33),
  // At noon, three fifths of what is not reserved.
  'Lambda ClaimedAccountConcurrency': (minute) =>
    reserved + Math.min(share(0.2)(minute), 0.6 * (accountConcurrency - reserved)),
  'Lambda/Web HTTPResponseStatusClass5XX chats': (minute) => (minute % 40 === 0 ? 2 : strayErrors(minute)),
  'Lambda/Web HTTPResponseStatusClass5XX uploads': every(90, 1),
  'own Strangers': (minute) => (minute === 9 * hour ? 60 : minute % 20 === 0 ? 2 : undefined),
  'CloudFront Requests': requests,
  'CloudFront 5xxErrorRate': (minute) => errorRate(strayErrors(minute))(minute),
  'DynamoDB ConsumedReadCapacityUnits': (minute) => 20 + requests(minute),
  'DynamoDB ReadThrottleEvents': every(6 * hour, 5, 100),
  'DynamoDB WriteThrottleEvents': every(7 * hour, 30, 101),
  'DynamoDB SystemErrors GetItem': every(day, 1, 500),
  'SQS ApproximateNumberOfMessagesVisible BatchesRequests': share(0.1),
  'SQS ApproximateNumberOfMessagesVisible BatchesDeadLetters': always(0),
  'SQS ApproximateNumberOfMessagesVisible PurgePurges': always(3),
  'own OldestRequestWait': (minute) => 10 + 2 * requests(minute),
  'own OverdueBatches': always(0),
  'own OverduePurges': always(0),
  'own BatchRequestsDone': share(0.5),
  'own ModelFailures throttled': (minute) => Math.round(requests(minute) * 0.004),
  'own ModelFailures failed': every(10, 1),
  'own TimeToFirstDelta send-message': firstDeltas,
  'own ReplyTime send-message': (minute) => [{ value: 8000, count: share(0.3)(minute) }],
  'own ReplyTime complete-chat': (minute) => [{ value: 8000, count: share(0.1)(minute) }],
});

const crashes = (name: string, fires: readonly string[]): Situation => ({
  title: `${name} crashes`,
  trouble: [noon, noon + 20],
  changes: { [`Lambda Errors ${name}`]: plus(2) },
  fires,
  ...(fires.length > 0 && { stopsRollouts: true }),
});

/** A share of all requests gets 5xx, at the gateway and so at the distribution. */
const failing = (part: number): Changes => ({
  'ApiGateway 5XXError': share(part),
  'CloudFront 5xxErrorRate': (minute) => errorRate(share(part)(minute))(minute),
});

const stays = (value: number) => (from: number) => (minute: number) => value + (minute - from) * 60;

export const situations: readonly Situation[] = [
  { title: 'a normal day', trouble: [0, 0], minutes: day, changes: {}, fires: [] },
  {
    title: 'a new stack before its first requests',
    trouble: [0, 20],
    changes: Object.fromEntries(
      Object.keys(normalDay({ accountConcurrency: 1000, reserved: 0 }))
        .filter((name) => !name.startsWith('Lambda Invocations'))
        .map((name) => [name, gone]),
    ),
    fires: [],
  },
  {
    title: 'a quiet night: nobody sends a request',
    trouble: [night, night + 10 * hour],
    changes: Object.fromEntries(
      Object.keys(normalDay({ accountConcurrency: 1000, reserved: 0 }))
        .filter((name) => /^(ApiGateway|CloudFront|Lambda\/Web|own (Model|Reply|Time))/.test(name))
        .map((name) => [name, gone]),
    ),
    fires: [],
  },
  {
    title: 'a deployment: cold starts, both versions, web functions that end',
    trouble: [noon, noon + 15],
    changes: {
      'own TimeToFirstDelta send-message': once(noon, 5, (minute) => [
        { value: 900, count: share(0.2)(minute) },
        { value: 12_000, count: share(0.1)(minute) },
      ]),
      'Lambda Throttles ProcessBatchItems': plus(4),
      'ApiGateway 5XXError': once(noon, 1, plus(8)),
      'Lambda/Web HTTPResponseStatusClass5XX chats': once(noon, 1, plus(8)),
      'Lambda/Web HTTPResponseStatusClass5XX uploads': once(noon, 1, plus(3)),
      'Lambda ClaimedAccountConcurrency': plus(30),
    },
    fires: [],
  },
  {
    title: 'the provider is down for ten minutes',
    trouble: [noon, noon + 10],
    changes: {
      'own ModelFailures unavailable': share(0.4),
      // A fifth of all requests are for whole replies, and get 500. The functions' minutes are not quite the gateway's.
      ...failing(0.2),
      'own ModelErrorResponses': (minute) => share(0.2)(minute) + (minute % 2 === 0 ? -9 : 9),
      'Lambda/Web HTTPResponseStatusClass5XX chats': share(0.2),
      'own TimeToFirstDelta send-message': gone,
      'own BatchRequestsDone': gone,
    },
    fires: ['ModelErrors', 'DistributionErrors'],
  },
  {
    title: 'the provider is down for ten minutes at night, with a request in ten minutes',
    trouble: [night, night + 10],
    changes: {
      'own ModelFailures unavailable': every(10, 1),
      'ApiGateway 5XXError': every(10, 1),
      'own ModelErrorResponses': every(10, 1),
      'own TimeToFirstDelta send-message': gone,
    },
    fires: [],
  },
  {
    title: 'the model refuses everything, and few replies are asked for',
    trouble: [night, night + 30],
    changes: {
      'own ModelFailures refused': always(2),
      'own ModelErrorResponses': always(1),
      'ApiGateway 5XXError': always(1),
      'own BatchRequestsDone': gone,
      'own TimeToFirstDelta send-message': gone,
    },
    fires: ['ModelErrors'],
  },
  {
    title: 'the event source mapping is disabled',
    trouble: [noon, noon + 8 * hour],
    changes: {
      'own OldestRequestWait': stays(300)(noon),
      'own BatchRequestsDone': gone,
      'SQS ApproximateNumberOfMessagesVisible BatchesRequests': always(5000),
    },
    fires: ['RequestsWait'],
  },
  {
    title: 'large batches, whose requests wait for five hours as they should',
    trouble: [noon, noon + 12 * hour],
    changes: {
      'own OldestRequestWait': always(5 * 3600),
      'SQS ApproximateNumberOfMessagesVisible BatchesRequests': always(20_000),
    },
    fires: [],
  },
  {
    title: 'a backlog of two days: requests wait until their batches expire',
    trouble: [noon, noon + 2 * day],
    changes: {
      'own OldestRequestWait': (minute) => Math.min(86_400, stays(0)(noon)(minute)),
      'SQS ApproximateNumberOfMessagesVisible BatchesRequests': always(50_000),
    },
    fires: ['RequestsWait'],
  },
  {
    title: 'the table is throttled',
    trouble: [noon, noon + 20],
    changes: {
      'DynamoDB ReadThrottleEvents': always(400),
      ...failing(0.02),
      'Lambda/Web HTTPResponseStatusClass5XX chats': always(2),
    },
    fires: ['TableThrottled', 'GatewayErrors', 'DistributionErrors'],
    stopsRollouts: true,
  },
  {
    title: 'only writes of the table are throttled, and retries help',
    trouble: [noon, noon + 20],
    changes: { 'DynamoDB WriteThrottleEvents': always(20) },
    fires: ['TableThrottled'],
  },
  {
    title: 'DynamoDB has errors of its own',
    trouble: [noon, noon + 20],
    changes: { 'DynamoDB SystemErrors UpdateItem': always(5) },
    fires: ['TableErrors'],
  },
  {
    title: 'three receivers of webhooks are dead',
    trouble: [noon, noon + 10 * hour],
    changes: {
      'own WebhooksExhausted': every(17, 1),
      'Lambda Throttles DeliverWebhook': plus(4),
    },
    fires: ['WebhooksGivenUp'],
  },
  {
    title: "a scanner of the web functions' addresses",
    trouble: [noon, noon + 10],
    changes: { 'own Strangers': always(2000) },
    fires: ['Strangers'],
  },
  {
    title: 'six requests of a stranger',
    trouble: [night, night + 2],
    changes: { 'own Strangers': always(3) },
    fires: [],
  },
  {
    title: 'uploads with a wrong key at night, of which Lambda makes a 502',
    trouble: [night, night + 10],
    changes: {
      'Lambda/Web HTTPResponseStatusClass5XX uploads': always(1),
      'CloudFront 5xxErrorRate': errorRate(1),
    },
    fires: [],
  },
  {
    title: 'one slow reply an hour, and no other',
    trouble: [0, 12 * hour],
    changes: { 'own TimeToFirstDelta send-message': every(hour, [{ value: 60_000, count: 1 }]) },
    fires: [],
  },
  {
    title: 'one slow reply in each five minutes, among ten others',
    trouble: [noon, noon + hour],
    changes: {
      'own TimeToFirstDelta send-message': (minute) => [
        { value: 900, count: 2 },
        { value: 60_000, count: minute % 5 === 0 ? 1 : 0 },
      ],
    },
    fires: [],
  },
  {
    title: 'one slow reply in each five minutes, and no other',
    trouble: [night, night + hour],
    changes: { 'own TimeToFirstDelta send-message': every(5, [{ value: 60_000, count: 1 }]) },
    fires: [],
  },
  {
    title: 'a tenth of the replies is slow',
    trouble: [noon, noon + hour],
    changes: {
      'own TimeToFirstDelta send-message': always([
        { value: 900, count: 90 },
        { value: 15_000, count: 10 },
      ]),
    },
    fires: ['FirstDeltaSlow'],
  },
  {
    title: 'every one of few replies is slow',
    trouble: [night, night + hour],
    changes: { 'own TimeToFirstDelta send-message': always([{ value: 15_000, count: 1 }]) },
    fires: ['FirstDeltaSlow'],
  },
  {
    title: 'a purge that fails twice',
    trouble: [noon, noon + hour],
    changes: { 'SQS ApproximateNumberOfMessagesVisible PurgePurges': always(1) },
    fires: [],
  },
  {
    title: 'a purge that fails for six hours, and whose dead letters stay',
    trouble: [noon, noon + 6 * hour],
    changes: {
      'own OverduePurges': always(1),
      'SQS ApproximateNumberOfMessagesVisible PurgeDeadLetters': always(3),
    },
    fires: ['PurgesOverdue'],
  },
  {
    title: 'the gateway, or Lambda in place of a web function, responds with 429',
    trouble: [noon, noon + 20],
    changes: { 'own Responses429': plus(200) },
    fires: ['RequestsThrottled'],
  },
  {
    title: 'clients are far beyond their rate limits',
    trouble: [noon, noon + 20],
    changes: { 'own Responses429': plus(200), 'own Errors 10029': plus(200) },
    fires: [],
  },
  {
    title: 'an account of 10, at work',
    settings: { accountConcurrency: 10 },
    trouble: [0, day],
    changes: { 'Lambda ClaimedAccountConcurrency': (minute) => 2 + (minute % 7), ...small() },
    fires: [],
  },
  {
    title: 'an account of 10, overloaded',
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
  {
    title: 'another stack uses up the account, and is throttled',
    trouble: [noon, noon + 20],
    changes: { 'Lambda ClaimedAccountConcurrency': always(995), 'Lambda Throttles': always(500) },
    fires: ['ConcurrencyNearItsLimit'],
  },
  {
    title: 'all executions of deliver-webhook are in use for long',
    trouble: [noon, noon + 20],
    changes: { 'Lambda Throttles DeliverWebhook': always(30) },
    fires: ['FunctionsThrottled'],
  },
  crashes('ListMessages', ['ChatFunctionErrors']),
  crashes('PrepareAttachment', ['FileAndDeletionFunctionErrors']),
  crashes('ListModels', ['CompletionFunctionErrors']),
  crashes('GetBatch', ['BatchRouteFunctionErrors']),
  crashes('AdvanceBatch', ['BatchWorkFunctionErrors']),
  // It fails for every unknown key.
  crashes('AuthorizeRequest', []),
  {
    title: 'the authorizer fails',
    trouble: [noon, noon + 20],
    changes: { 'Lambda Errors AuthorizeRequest': plus(300), ...failing(0.5) },
    fires: ['GatewayErrors', 'DistributionErrors'],
    stopsRollouts: true,
  },
  {
    title: 'the code that replies crashes',
    trouble: [noon, noon + 20],
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
  {
    title: 'the web function of uploads crashes',
    trouble: [noon, noon + 20],
    changes: {
      'Lambda/Web HTTPResponseStatusClass5XX uploads': always(8),
      'CloudFront 5xxErrorRate': errorRate(8),
    },
    fires: ['WebFunctionErrors', 'DistributionErrors'],
  },
  {
    title: 'CloudFront has errors of its own at noon',
    trouble: [noon, noon + 20],
    changes: { 'CloudFront 5xxErrorRate': errorRate(30) },
    fires: ['DistributionErrors'],
  },
  {
    title: 'one of three requests a minute fails at CloudFront',
    trouble: [night, night + 15],
    changes: { 'CloudFront 5xxErrorRate': errorRate(1) },
    fires: [],
  },
  {
    title: 'a flood of unknown keys',
    trouble: [noon, noon + 20],
    changes: { 'own RejectedKeys unknown': always(1000), 'Lambda Errors AuthorizeRequest': always(1000) },
    fires: ['KeysRejected'],
  },
  {
    title: 'a client with one wrong key, which the gateway caches',
    trouble: [noon, noon + hour],
    changes: { 'own RejectedKeys unknown': plus(20) },
    fires: [],
  },
  {
    title: 'the reconciler stops',
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
  {
    title: 'the reconciler fails',
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
  {
    title: 'the hourly deletion of unused chats stops',
    trouble: [noon, noon + 6 * hour],
    minutes: noon + 12 * hour,
    changes: {
      'Lambda Invocations DeleteUnusedChats': gone,
      'Lambda Errors DeleteUnusedChats': gone,
    },
    fires: ['RetentionSilent'],
  },
  {
    title: 'the hourly deletion of unused chats fails',
    trouble: [noon, noon + 6 * hour],
    minutes: noon + 12 * hour,
    changes: { 'Lambda Errors DeleteUnusedChats': every(hour, 1, 7) },
    fires: ['RetentionSilent'],
  },
  {
    title: 'requests kill their workers',
    trouble: [noon, noon + 30],
    changes: {
      'Lambda Errors ProcessBatchItems': every(2, 1),
      'SQS NumberOfMessagesReceived BatchesDeadLetters': once(noon + 29, 1, every(30, 2, 29)),
    },
    fires: ['BatchWorkFunctionErrors', 'DeadLetters'],
    stopsRollouts: true,
  },
  {
    title: 'the handler of dead letters does not run',
    trouble: [noon, noon + hour],
    changes: { 'SQS ApproximateNumberOfMessagesVisible BatchesDeadLetters': always(2) },
    fires: ['DeadLetters'],
  },
  {
    title: 'an execution of the workflow fails',
    trouble: [noon, noon + 1],
    changes: { 'States ExecutionsFailed': always(1) },
    fires: ['ExecutionsFailed'],
  },
  {
    title: 'an execution of the workflow times out',
    trouble: [noon, noon + 1],
    changes: { 'States ExecutionsTimedOut': always(1) },
    fires: ['ExecutionsFailed'],
  },
  {
    title: 'batches stay open after they have expired',
    trouble: [noon, noon + hour],
    changes: { 'own OverdueBatches': always(2) },
    fires: ['BatchesOverdue'],
  },
];

/** The load of a stage in a small account. */
function small(): Changes {
  return {
    'ApiGateway Count': always(counted(30)),
    'CloudFront Requests': always(30),
    'CloudFront 5xxErrorRate': (minute) => [{ value: (100 * strayErrors(minute)) / 30, count: 30 }],
  };
}
