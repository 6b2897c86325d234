import { Agent, request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';

const agent = new Agent({ keepAlive: true });

/**
 * Asks a model that speaks OpenAI's chat completions.
 * @param address ends in `/v1`
 * @param onPiece asks for a stream, and is given each piece as it comes
 * @throws Error when the answer is no reply
 */
export function callModel(
  address: string,
  messages: { role: string; content: string }[],
  onChunk?: (chunk: string) => void,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const body = JSON.stringify({ model: 'scripted', stream: onChunk !== undefined, messages });
  const call = httpRequest(`${address}/chat/completions`, {
    method: 'POST',
    agent,
    headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
  });
  call.on('error', reject);
  call.on('response', (response) => {
    if (response.statusCode !== 200) {
      text(response).then(
        (text) => reject(new Error(`The model answered ${response.statusCode}: ${text}`)),
        reject,
      );
      return;
    }
    if (onChunk === undefined) {
      text(response).then((text) => resolve(JSON.parse(text).choices[0].message.content), reject);
      return;
    }
    let reply = '';
    let rest = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      rest += chunk;
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
        const text = rest.slice('data: '.length, end);
        rest = rest.slice(end + 2);
        if (text === '[DONE]') continue;
        const chunk: unknown = JSON.parse(text).choices[0]?.delta.content;
        if (typeof chunk !== 'string') continue;
        reply += chunk;
        onChunk(chunk);
      }
    });
    response.on('end', () => resolve(reply)).on('error', reject);
  });
  call.end(body);
  return promise;
}
