export const assumptions = {
  /** `usualMegabytes` of lib/service-function.ts. */
  memoryGigabytes: 1,
  /** Of a web function. */
  environmentGigabytes: 2,
  /** The default of the setting. */
  requestsPerEnvironment: 64,
  /** The mean number of concurrent requests in an environment of a web function. */
  usualConcurrency: 20,
  /**
   * Of a request to a web function, with the gateway and the emulators of a local run: an earlier measurement of a
   * streamed reply. `docs/performance.md` has a newer one.
   */
  processorMilliseconds: 8.8,
  modelSeconds: 5,
  /** The lines of Lambda and of the service, and the metrics. */
  logBytesPerInvocation: 3000,
  /** By default, X-Ray samples one request a second, and one in this number of the other requests. */
  requestsPerTrace: 20,
  /** A streamed reply of a few hundred words. */
  responseBytes: 10_000,
  storedBytesPerTurn: 2000,
  /**
   * The write units of writes that fail, such as cancelled transactions, for each request in a batch: the minimum of
   * local runs. DynamoDB bills them too.
   */
  minimumFailedWrites: 0,
  /** As `minimumFailedWrites`, but the maximum. */
  maximumFailedWrites: 0.003,
  /** The default of the setting. */
  requestsPerWorker: 25,
} as const;

/** Of warm functions in AWS, without the model: estimates, because a local run cannot measure them. */
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

export const timedFunctions = [...Object.keys(functionMilliseconds), 'any other'];
