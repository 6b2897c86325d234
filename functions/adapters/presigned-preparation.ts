import { setTimeout as sleep } from 'node:timers/promises';
import type { StandardRetryStrategy } from '@smithy/core/retry';
import { limits } from '#contract/limits.ts';
import type { Preparation } from '#domain/files/preparation.ts';
import { OutboundFailure } from '#domain/platform/outbound-failure.ts';
import { type OutboundRequest, sendOutbound } from './outbound/send-outbound.ts';
import { preparedJson } from './prepared-json.ts';

/** Milliseconds. Files and their texts have several megabytes. */
const times = { response: 30_000, whole: 30_000 };

/**
 * Reads and writes the objects of one preparation by their presigned addresses. S3 sends no redirect for an address of
 * its Region, and none is followed. No error contains an address.
 */
export function presignedPreparation(retries: StandardRetryStrategy): Preparation {
  const put = async (address: string, body: Uint8Array, contentType: string): Promise<void> => {
    const headers = { 'Content-Type': contentType };
    const { status } = await send(retries, {
      method: 'PUT',
      url: new URL(address),
      headers,
      body,
      maxBytes: errorBytes,
    });
    if (status !== 200) throw failureOf('write', status);
  };
  return {
    async readFile({ file }) {
      const maxBytes = limits.fileBytes;
      const { status, body } = await send(retries, { method: 'GET', url: new URL(file), maxBytes });
      // Not 403: the caller that has signed the address may list the bucket, so that it gets 404.
      if (status === 404) return undefined;
      if (status !== 200) throw failureOf('read', status);
      return body;
    },
    putContent: ({ content }, prepared) =>
      put(content, Buffer.from(preparedJson(prepared)), 'application/json'),
    putImage: ({ image }, bytes) => put(image, bytes, 'application/octet-stream'),
  };
}

/** S3 describes an error in less than 1 KB. */
const errorBytes = 64 * 1024;

const failureOf = (what: 'read' | 'write', status: number): Error =>
  new Error(`S3 responded with ${status} to a presigned ${what}`);

/** Retries like an AWS client: after 429, 5xx and failed connections. */
async function send(
  retries: StandardRetryStrategy,
  request: Pick<OutboundRequest, 'method' | 'url' | 'headers' | 'body' | 'maxBytes'>,
): Promise<{ status: number; body: Buffer }> {
  let token = await retries.acquireInitialRetryToken('s3');
  for (;;) {
    let failure: Error;
    try {
      const { signal } = new AbortController();
      const response = await sendOutbound({ ...request, rules: undefined, redirects: 0, times, signal });
      if (response.status < 500 && response.status !== 429) return response;
      failure = failureOf(request.method === 'GET' ? 'read' : 'write', response.status);
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      failure = error;
    }
    token = await retries.refreshRetryTokenForRetry(token, { errorType: 'TRANSIENT' }).catch(() => {
      throw failure;
    });
    await sleep(token.getRetryDelay());
  }
}
