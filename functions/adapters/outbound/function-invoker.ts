import { AwsV4Signer } from 'aws4fetch';
import { OutboundFailure } from '#domain/platform/failures.ts';
import type { InvokeFunction } from '#domain/tools/remote-tools.ts';
import { sendOutbound } from './send-outbound.ts';

/** Less than the 6 MB that Lambda allows. A larger result is a failure. */
const maxBytes = 1_000_000;

/** By the types of Lambda's errors. */
const rejections: Partial<Record<string, ConstructorParameters<typeof OutboundFailure>>> = {
  AccessDeniedException: ['forbidden', 'This service may not call the function'],
  ResourceNotFoundException: ['changed', 'The function does not exist'],
  TooManyRequestsException: ['refused', 'The function is busy; it may answer later'],
};

type Credentials = () => Promise<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string }>;

/**
 * Does not use the SDK's client, which would read any answer to its end.
 * @param endpoint undefined on AWS
 */
export const functionInvoker =
  (credentials: Credentials, endpoint: string | undefined): InvokeFunction =>
  async ({ arn, payload, timeout, signal }) => {
    const [, partition, , region = ''] = arn.split(':');
    const base = endpoint ?? `https://lambda.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`;
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
    // Such as `AccessDeniedException`, at times with a suffix after a colon.
    const [error = ''] = String(headers['x-amzn-errortype']).split(':');
    const rejection = rejections[error];
    if (rejection !== undefined) throw new OutboundFailure(...rejection);
    if (status !== 200) throw new Error(`The function was not called: ${error}`);
    return { payload: body.toString(), hasFailed: headers['x-amz-function-error'] !== undefined };
  };
