import type { Datum } from './metric-data.ts';

/** The values of `webFunctions`. */
export const forms = ['all', 'uploads', 'none'] as const;
export type Form = (typeof forms)[number];

/** The value of a metric in a minute, given its value on a normal day. */
type Change = (minute: number, normal: Datum | undefined) => Datum | undefined;

/** Changes by metric: its namespace without `AWS/`, its name, and what its dimensions tell apart. */
export type Changes = Readonly<Record<string, Change>>;

interface Situation {
  /**
   * Minutes from the start of a normal day at which the trouble starts and ends. The day has its peak at noon. By
   * default the trouble is the 20 minutes after noon.
   */
  trouble?: readonly [from: number, to: number];
  /** Minutes in all. By default there are four normal hours after the trouble. */
  minutes?: number;
  changes: Changes;
  /** The alarms that go off. Those that a form does not have are left out. */
  fires: readonly string[] | Readonly<Record<Form, readonly string[]>>;
  /** Alarms that stop a roll-out go off. */
  stopsRollouts?: true;
  settings?: Readonly<Record<string, unknown>>;
}

/** By their titles. */
export type Situations = Readonly<Record<string, Situation>>;

export const hour = 60;
export const day = 24 * hour;
export const [night, noon] = [hour, 12 * hour];

export const listSituations = (situations: Situations) =>
  Object.entries(situations).map(([title, situation]) => ({
    title,
    trouble: [noon, noon + 20] as const,
    ...situation,
  }));

export const every = (minutes: number, value: Datum, offset = 0): Change => {
  const isNow = (minute: number) => minute % minutes === offset;
  return (minute) => (isNow(minute) ? value : undefined);
};
export const always =
  (value: Datum): Change =>
  () =>
    value;
export const gone: Change = () => undefined;
export const plus =
  (more: number): Change =>
  (_minute, normal = 0) =>
    (typeof normal === 'number' ? normal : 0) + more;
/** Changes in the first minutes of the trouble alone. */
export const once =
  (from: number, minutes: number, change: Change): Change =>
  (minute, normal) =>
    minute < from + minutes ? change(minute, normal) : normal;

/** Requests in a minute: three at night, 600 at noon. */
const requests = (minute: number): number =>
  Math.max(3, Math.round(600 * Math.sin(((minute % day) / day) * Math.PI) ** 6));
/** A metric of single requests, whose number is that of its samples. */
export const counted = (count: number): Datum => [{ value: 1, count }];
export const share = (part: number) => (minute: number) => Math.round(requests(minute) * part);

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
export const errorRate = (errors: number) => (minute: number) => [
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
  'own StreamedFaults': every(50, 1),
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
  'SQS ApproximateNumberOfMessagesVisible PurgePurges': always(3),
  'own OldestRequestWait': (minute) => 10 + 2 * requests(minute),
  'own OverdueBatches': always(0),
  'own OverduePurges': always(0),
  'own BatchRequestsDone': share(0.5),
  'own ModelFailures throttled': (minute) => Math.round(requests(minute) * 0.004),
  'own ModelFailures failed': every(10, 1),
  // A server of one workspace is down for half of each day.
  'own ToolFailures consultant_call_mcp_tool': (minute) => (minute % day < 12 * hour ? 10 : 0),
  'own ToolFailures consultant_call_http_api': every(30, 1),
  'own ToolTime consultant_call_mcp_tool': (minute) => counted(25 + share(0.1)(minute)),
  'own ToolTime consultant_call_http_api': (minute) => counted(share(0.05)(minute)),
  'own TimeToFirstDelta send-message': firstDeltas,
  'own ReplyTime send-message': (minute) => [{ value: 8000, count: share(0.3)(minute) }],
  'own ReplyTime complete-chat': (minute) => [{ value: 8000, count: share(0.1)(minute) }],
});

/** A share of all requests gets 5xx, at the gateway and so at the distribution. */
export const failing = (part: number): Changes => ({
  'ApiGateway 5XXError': share(part),
  'CloudFront 5xxErrorRate': (minute) => errorRate(share(part)(minute))(minute),
});
