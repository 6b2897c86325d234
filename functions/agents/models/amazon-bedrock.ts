import { createHash } from 'node:crypto';
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { AwsV4Signer } from 'aws4fetch';
import { httpFetch } from './http/http-fetch.ts';

/*
 * Imported at the first call of a Bedrock model. The package adds half to the code that a reply loads otherwise, and
 * many stages use no Bedrock models.
 */
export const makeProvider = createAmazonBedrock;

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/**
 * `httpFetch` that signs. The package can sign as well, with the same signer, but needs the body as one text. The
 * signature replaces the package's header `Authorization`.
 */
export async function signedFetch(
  settings: AwsCredentials & { region: string },
  input: string | URL | Request,
  init: RequestInit,
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('x-amz-content-sha256', await hashOf(init));
  const signer = new AwsV4Signer({
    ...settings,
    service: 'bedrock',
    method: 'POST',
    url: String(input),
    headers,
  });
  return httpFetch(signer.url, { ...init, headers: (await signer.sign()).headers });
}

async function hashOf({ body, signal }: RequestInit): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of typeof body === 'string' ? [body] : (body as AsyncIterable<Uint8Array>)) {
    signal?.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
}
