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
  onPiece?: (piece: string) => void,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const body = JSON.stringify({ model: 'scripted', stream: onPiece !== undefined, messages });
  const call = httpRequest(`${address}/chat/completions`, {
    method: 'POST',
    agent,
    headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
  });
  call.on('error', reject);
  call.on('response', (response) => {
    if (response.statusCode !== 200) {
      text(response).then(
        (told) => reject(new Error(`The model answered ${response.statusCode}: ${told}`)),
        reject,
      );
      return;
    }
    if (onPiece === undefined) {
      text(response).then((told) => resolve(JSON.parse(told).choices[0].message.content), reject);
      return;
    }
    let reply = '';
    let rest = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      rest += chunk;
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
        const told = rest.slice('data: '.length, end);
        rest = rest.slice(end + 2);
        if (told === '[DONE]') continue;
        const piece: unknown = JSON.parse(told).choices[0]?.delta.content;
        if (typeof piece !== 'string') continue;
        reply += piece;
        onPiece(piece);
      }
    });
    response.on('end', () => resolve(reply)).on('error', reject);
  });
  call.end(body);
  return promise;
}
