import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

export interface FailingService {
  /** For AWS_ENDPOINT_URL_*. */
  url: string;
  /** Where calls go on to: known only when the service runs. */
  emulator: string;
  isDown: boolean;
  /** Calls that met the outage. */
  rejected: number;
  close(): Promise<void>;
}

const json = { 'Content-Type': 'application/x-amz-json-1.0' };
const jsonError = '{"__type":"ServiceUnavailable","message":"Try again later"}';
const xml = { 'Content-Type': 'application/xml' };
const xmlError = '<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>';

/**
 * Stands between functions and a service of AWS, which can be down: it then answers with 503, as AWS does.
 * @param fails whether a call meets the outage; each of them unless given
 */
export async function startFailingService(
  fails: (call: IncomingMessage) => boolean = () => true,
): Promise<FailingService> {
  const service = { url: '', emulator: '', isDown: false, rejected: 0 };
  const server = createServer((call, response) => {
    if (service.isDown && fails(call)) {
      service.rejected += 1;
      call.resume();
      // S3 alone names what it is asked for in the path.
      if (call.headers['x-amz-target'] === undefined) response.writeHead(503, xml).end(xmlError);
      else response.writeHead(503, json).end(jsonError);
      return;
    }
    const { method = 'GET', url = '/', headers } = call;
    const passed = request(new URL(url, service.emulator), { method, headers }, (upstreamResponse) => {
      response.writeHead(upstreamResponse.statusCode ?? 500, upstreamResponse.headers);
      pipeline(upstreamResponse, response).catch(() => response.destroy());
    });
    passed.on('error', () => response.destroy());
    call.pipe(passed);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return Object.assign(service, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  });
}
