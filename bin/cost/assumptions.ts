/** A function's memory, GB: the setting functionMemoryMegabytes. */
export const memoryGigabytes = 1;

/** Of a reply of a model, seconds: what a function waits for it is paid for as if it worked. */
export const modelSeconds = 5;

/** Lines of Lambda, of the service and its metrics. */
export const logBytesPerInvocation = 3000;

/** X-Ray's default beyond one request a second. */
export const tracedShare = 1 / 20;

/** What leaves through CloudFront for a request of a client: a streamed reply of a few hundred words. */
export const responseBytes = 10_000;

/** A message with its reply, as the table keeps them. */
export const storedBytesPerTurn = 2000;

/** Requests of a batch that one invocation of its worker takes, at most and under load, and answers side by side. */
export const requestsPerWorker = 10;

/** Besides the model, milliseconds; warm, in AWS. They are guesses, rounded up: a local run tells nothing of them. */
const ownMilliseconds: Readonly<Record<string, number>> = {
  SendMessage: 100,
  ProcessBatchItems: 500,
  CreateBatch: 500,
  DispatchBatch: 500,
  DeliverWebhook: 500,
  UploadServer: 500,
  ReconcileBatches: 200,
};
const usualMilliseconds = 50;

const callsModels = new Set(['SendMessage', 'ProcessBatchItems']);

export const secondsOf = (functionName: string): number =>
  (ownMilliseconds[functionName] ?? usualMilliseconds) / 1000 +
  (callsModels.has(functionName) ? modelSeconds : 0);

/** For the table of the document. */
export const assumedSeconds = (): [names: string, seconds: number][] => [
  ...Object.keys(ownMilliseconds).map((name): [string, number] => [name, secondsOf(name)]),
  ['any other', usualMilliseconds / 1000],
];
