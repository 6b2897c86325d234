import { AwsV4Signer } from 'aws4fetch';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { sendOutbound } from './send-outbound.ts';

/** Lambda returns 6 MB at most. A model gets a small part even of this. */
const maxBytes = 1_000_000;

interface InvokerOptions {
  credentials(): Promise<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string }>;
  /** In place of the address of Lambda in the function's Region. */
  endpoint: string | undefined;
}

interface FunctionCall {
  arn: string;
  /** JSON. */
  payload: string;
  /** Milliseconds. */
  timeout: number;
  signal: AbortSignal;
}

/**
 * Invokes a function once and waits for its end. The SDK's client would add 14 KB to the start of all functions that reply,
 * because their bundles share its protocol, and reads any answer to its end.
 * @throws OutboundFailure if the function does not run, or not to its end in this time; none of its texts has the ARN
 */
export const functionInvoker =
  ({ credentials, endpoint }: InvokerOptions) =>
  async ({ arn, payload, timeout, signal }: FunctionCall) => {
    const [, partition, , region = ''] = arn.split(':');
    const suffix = partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com';
    const base = endpoint ?? `https://lambda.${region}.${suffix}`;
    const signer = new AwsV4Signer({
      ...(await credentials()),
      ...{ service: 'lambda', region, method: 'POST', body: payload },
      url: `${base}/2015-03-31/functions/${encodeURIComponent(arn)}/invocations`,
      headers: { 'Content-Type': 'application/json' },
    });
    const { status, headers, body } = await sendOutbound({
      ...{ url: signer.url, method: 'POST', body: Buffer.from(payload), maxBytes, signal },
      headers: Object.fromEntries((await signer.sign()).headers),
      ...{ rules: undefined, redirects: 0, times: { response: timeout, whole: timeout } },
    });
    if (status !== 200) throw rejectionOf(String(headers['x-amzn-errortype']));
    return { payload: body.toString(), hasFailed: headers['x-amz-function-error'] !== undefined };
  };

/** @param type such as `AccessDeniedException`, or with a suffix after a colon */
function rejectionOf(type: string): Error {
  switch (type.split(':')[0]) {
    case 'AccessDeniedException':
      return new OutboundFailure('forbidden', 'This service may not call the function');
    case 'ResourceNotFoundException':
      return new OutboundFailure('changed', 'The function does not exist');
    case 'TooManyRequestsException':
      return new OutboundFailure('refused', 'The function is busy; it may answer later');
    default:
      return new Error(`The function was not called: ${type}`);
  }
}
