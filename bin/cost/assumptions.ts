export const assumptions = {
  /** The usual memory of a function, GB: `usualMegabytes` of lib/service-function.ts. */
  memoryGigabytes: 1,
  /** The memory of an environment of a web function, GB. Lambda has no setting for it. */
  environmentGigabytes: 2,
  /** The default of the setting requestsPerEnvironment. */
  requestsPerEnvironment: 64,
  /**
   * The mean number of concurrent requests in an environment of a web function, from its start to its end. Figures of
   * web functions that name no other concurrency use it.
   */
  usualConcurrency: 20,
  /**
   * The processor time of a request to a web function, with that of the gateway and the emulators of a local run. This
   * is an earlier measurement of a streamed reply, with 16 replies at once. `docs/performance.md` has a newer and lower
   * one.
   */
  processorMilliseconds: 8.8,
  /** The duration of a model's reply, seconds. Lambda bills the time that a function waits for the reply. */
  modelSeconds: 5,
  /** The bytes of an invocation's log: the lines of Lambda and of the service, and the metrics. */
  logBytesPerInvocation: 3000,
  /** By default, X-Ray samples one request a second, and one in this number of the other requests. */
  requestsPerTrace: 20,
  /** The bytes that CloudFront sends for one client request: a streamed reply of a few hundred words. */
  responseBytes: 10_000,
  /** The bytes of a message with its reply, as stored in the table. */
  storedBytesPerTurn: 2000,
  /**
   * The write units of a batch request for writes that fail, such as cancelled transactions: the minimum of local runs.
   * DynamoDB bills them too. They depend on how many requests conflict, so no budget contains them.
   */
  minimumFailedWrites: 0,
  /** The maximum of the same. */
  maximumFailedWrites: 0.003,
  /** The default of the setting requestsPerWorker. */
  requestsPerWorker: 25,
} as const;

/**
 * The duration of warm functions in AWS without the model, milliseconds. These are estimates, rounded up, because a
 * local run cannot measure them.
 */
const functionMilliseconds: Readonly<Record<string, number>> = {
  SendMessage: 100,
  CompleteChat: 100,
  ProcessBatchItems: 500,
  CreateBatch: 500,
  DispatchBatch: 500,
  DeliverWebhook: 500,
  UploadServer: 500,
  ReconcileBatches: 200,
};
const defaultMilliseconds = 50;

const callsModels = new Set(['SendMessage', 'CompleteChat', 'ProcessBatchItems']);

export const secondsOf = (functionName: string): number =>
  (functionMilliseconds[functionName] ?? defaultMilliseconds) / 1000 +
  (callsModels.has(functionName) ? assumptions.modelSeconds : 0);

/** The functions in the table of durations of docs/cost.md. */
export const timedFunctions = [...Object.keys(functionMilliseconds), 'any other'];
