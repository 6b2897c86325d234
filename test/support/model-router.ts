import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type LocalServer, listenLocally } from './listen-locally.ts';

/** The `llm_model` that the router passes to the scripted model at a port of this machine. */
export const nameOfModelAt = (port: string): string => `openai:at-${port}`;

/**
 * Starts the model provider of the service that test files share. It passes each call to the scripted model that the
 * call's model name tells, so that every file has a model of its own.
 */
export async function startModelRouter(): Promise<Pick<LocalServer, 'url' | 'close'>> {
  const { url, close } = await listenLocally(createServer(passOn));
  return { url: `${url}/v1`, close };
}

async function passOn(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(incoming);
  const { model } = JSON.parse(body.toString()) as { model: string };
  const port = /^at-(\d+)$/.exec(model)?.[1];
  if (port === undefined) {
    response.writeHead(404).end(`No scripted model has the name ${model}`);
    return;
  }
  const { method = '', url: path = '', headers } = incoming;
  const outgoing = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers).flushHeaders();
    answer.pipe(response);
    // A model that cuts the connection cuts it for the service as well.
    answer.once('error', () => response.destroy());
  });
  outgoing.once('error', () => response.destroy());
  response.once('close', () => outgoing.destroy());
  outgoing.end(body);
}
