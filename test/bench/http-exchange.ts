import { Agent, request as httpRequest } from 'node:http';

/** A request fails if its connection is idle for so long. */
const idleSeconds = 60;

interface Content {
  json?: unknown;
  form?: { body: Buffer; boundary: string };
  /** Receives the text of a successful response as it arrives. Then the returned text is empty. */
  onText?: (text: string) => void;
}

/** A client of plain `node:http` with keep-alive, so that the client itself adds little to a figure. */
export function httpExchange(baseUrl: string, ownHeaders: Record<string, string> = {}) {
  const agent = new Agent({ keepAlive: true });
  return {
    /** Sends a request and returns the response's body, or throws unless its status is 2xx. */
    exchange(method: string, path: string, { json, form, onText }: Content = {}): Promise<string> {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const body = form?.body ?? (json === undefined ? undefined : JSON.stringify(json));
      const type = form ? `multipart/form-data; boundary=${form.boundary}` : 'application/json';
      const headers = {
        ...ownHeaders,
        ...(body !== undefined && { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }),
      };
      const call = httpRequest(baseUrl + path, { method, agent, headers });
      call.setTimeout(idleSeconds * 1000, () =>
        call.destroy(new Error(`${method} ${path} was idle for ${idleSeconds} s`)),
      );
      call.on('error', reject).on('response', (response) => {
        const { statusCode = 0 } = response;
        const isGood = statusCode >= 200 && statusCode < 300;
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => {
            if (isGood && onText !== undefined) onText(chunk);
            else text += chunk;
          })
          .on('end', () => {
            if (isGood) resolve(text);
            else reject(new Error(`${method} ${path} got the response ${statusCode}: ${text.slice(0, 300)}`));
          })
          .on('error', reject);
      });
      call.end(body);
      return promise;
    },
    close: () => agent.destroy(),
  };
}

/** Returns a function that receives the text of an event stream, whose network chunks may end inside an event. */
export function eventReader(onEvent: (event: string) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const events = (rest + text).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) onEvent(event);
  };
}
