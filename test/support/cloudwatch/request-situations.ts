import {
  always,
  type Changes,
  day,
  errorRate,
  every,
  failing,
  gone,
  hour,
  night,
  noon,
  normalDay,
  once,
  plus,
  type Situations,
  share,
} from './normal-day.ts';

/** Without the data of these metrics. */
const without = (metrics: RegExp): Changes =>
  Object.fromEntries(
    Object.keys(normalDay({ accountConcurrency: 1000, reserved: 0 }))
      .filter((name) => metrics.test(name))
      .map((name) => [name, gone]),
  );

/** Situations of requests and replies, and how new code, clients, models and strangers change them. */
export const requestSituations: Situations = {
  'a normal day': { trouble: [0, 0], minutes: day, changes: {}, fires: [] },
  'a quiet night: nobody sends a request': {
    trouble: [night, night + 10 * hour],
    changes: without(/^(ApiGateway|CloudFront|Lambda\/Web|own (Model|Reply|Time))/),
    fires: [],
  },
  'a deployment: cold starts, both versions, web functions that end': {
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
  'the provider is down for ten minutes': {
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
  'the systems of tools cannot be reached for an hour': {
    trouble: [noon, noon + 60],
    changes: {
      'own ToolFailures consultant_call_mcp_tool': share(0.1),
      'own ToolFailures consultant_call_http_api': share(0.05),
    },
    fires: ['RemoteToolFailures'],
  },
  'all few uses of tools fail at night': {
    trouble: [night, night + 60],
    changes: {
      'own ToolFailures consultant_call_mcp_tool': every(2, 3),
      'own ToolTime consultant_call_mcp_tool': every(2, [{ value: 1, count: 3 }]),
    },
    fires: [],
  },
  'the model refuses everything, and few replies are asked for': {
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
  'a fault of the service fails a tenth of the streams, whose status is 200': {
    trouble: [noon, noon + 10],
    changes: { 'own StreamedFaults': share(0.1) },
    fires: ['GatewayErrors'],
    stopsRollouts: true,
  },
  'two streams a minute fail by a fault of the service at night': {
    trouble: [night, night + 10],
    changes: { 'own StreamedFaults': always(2) },
    fires: [],
  },
  "a scanner of the web functions' addresses": {
    trouble: [noon, noon + 10],
    changes: { 'own Strangers': always(2000) },
    fires: ['Strangers'],
  },
  'uploads with a wrong key at night, of which Lambda makes a 502': {
    trouble: [night, night + 10],
    changes: {
      'Lambda/Web HTTPResponseStatusClass5XX uploads': always(1),
      'CloudFront 5xxErrorRate': errorRate(1),
    },
    fires: [],
  },
  'one slow reply in each five minutes, among ten others': {
    trouble: [noon, noon + hour],
    changes: {
      'own TimeToFirstDelta send-message': (minute) => [
        { value: 900, count: 2 },
        { value: 60_000, count: minute % 5 === 0 ? 1 : 0 },
      ],
    },
    fires: [],
  },
  'one slow reply in each five minutes, and no other': {
    trouble: [night, night + hour],
    changes: { 'own TimeToFirstDelta send-message': every(5, [{ value: 60_000, count: 1 }]) },
    fires: [],
  },
  'a tenth of the replies is slow': {
    trouble: [noon, noon + hour],
    changes: {
      'own TimeToFirstDelta send-message': always([
        { value: 900, count: 90 },
        { value: 15_000, count: 10 },
      ]),
    },
    fires: ['FirstDeltaSlow'],
  },
  'every one of few replies is slow': {
    trouble: [night, night + hour],
    changes: { 'own TimeToFirstDelta send-message': always([{ value: 15_000, count: 1 }]) },
    fires: ['FirstDeltaSlow'],
  },
  'the gateway, or Lambda in place of a web function, responds with 429': {
    changes: { 'own Responses429': plus(200) },
    fires: ['RequestsThrottled'],
  },
  'clients are far beyond their rate limits': {
    changes: { 'own Responses429': plus(200), 'own Errors 10029': plus(200) },
    fires: [],
  },
  'the web function of uploads crashes': {
    changes: {
      'Lambda/Web HTTPResponseStatusClass5XX uploads': always(8),
      'CloudFront 5xxErrorRate': errorRate(8),
    },
    fires: ['WebFunctionErrors', 'DistributionErrors'],
  },
  'a flood of unknown keys': {
    changes: { 'own RejectedKeys unknown': always(1000), 'Lambda Errors AuthorizeRequest': always(1000) },
    fires: ['KeysRejected'],
  },
  'a client with one wrong key, which the gateway caches': {
    trouble: [noon, noon + hour],
    changes: { 'own RejectedKeys unknown': plus(20) },
    fires: [],
  },
};
