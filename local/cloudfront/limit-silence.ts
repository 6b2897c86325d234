import type { IncomingMessage, ServerResponse } from 'node:http';

type Send = (...given: unknown[]) => unknown;

const PAGE = '<h1>Error</h1>';

/**
 * Rules: "Response timeout" in CloudFront's developer guide, DownloadDistValuesOrigin.html. By default, CloudFront
 * repeats a GET or HEAD before it gives up. This function does not.
 */
export function limitSilence(request: IncomingMessage, response: ServerResponse, milliseconds: number): void {
  const [writeHead, write] = [response.writeHead.bind(response), response.write.bind(response)];
  let timer: NodeJS.Timeout | undefined;
  let hasExpired = false;

  const expire = (): void => {
    // The client reads slowly, so the origin cannot send.
    if (response.writableNeedDrain) return void timer?.refresh();
    hasExpired = true;
    if (response.headersSent) return void response.destroy();
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    writeHead(504, { 'Content-Type': 'text/html', 'Content-Length': PAGE.length, Connection: 'close' });
    write(PAGE, () => response.destroy());
  };
  const start = (): void => {
    timer = setTimeout(expire, milliseconds);
  };

  for (const name of ['writeHead', 'write', 'end'] as const) {
    const send = response[name].bind(response) as Send;
    response[name] = ((...given) => {
      timer?.refresh();
      return hasExpired ? response : send(...given);
    }) as Send as never;
  }
  response.on('drain', () => timer?.refresh());
  response.once('close', () => clearTimeout(timer));
  if (request.complete) start();
  else request.once('end', start);
}
