import { createServer, type IncomingMessage, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { listenLocally } from './listen-locally.ts';

const json = { 'Content-Type': 'application/x-amz-json-1.0' };
const jsonError = '{"__type":"ServiceUnavailable","message":"Try again later"}';

/**
 * A proxy before DynamoDB. While `isDown` is set, it responds with 503, as AWS does.
 * @param fails whether a call gets the 503
 */
export async function startFailingService(fails: (call: IncomingMessage) => boolean) {
  const service = {
    /** Where calls are forwarded to; set when the service runs. */
    emulator: '',
    isDown: false,
  };
  const server = createServer((call, response) => {
    if (service.isDown && fails(call)) {
      call.resume();
      response.writeHead(503, json).end(jsonError);
      return;
    }
    const { method = 'GET', url = '/', headers } = call;
    const forwarded = request(new URL(url, service.emulator), { method, headers }, (upstreamResponse) => {
      response.writeHead(upstreamResponse.statusCode ?? 500, upstreamResponse.headers);
      pipeline(upstreamResponse, response).catch(() => response.destroy());
    });
    forwarded.on('error', () => response.destroy());
    call.pipe(forwarded);
  });
  return Object.assign(service, await listenLocally(server));
}
