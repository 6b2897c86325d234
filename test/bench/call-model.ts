import { Agent, request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';

const agent = new Agent({ keepAlive: true });

/**
 * Calls a model with OpenAI's chat completions API.
 * @param address ends in `/v1`
 * @param onChunk receives each chunk as it arrives; with it, the call is streamed
 * @throws Error if the response is not a reply
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
        (error) => reject(new Error(`The model responded with ${response.statusCode}: ${error}`)),
        reject,
      );
      return;
    }
    if (onChunk === undefined) {
      text(response).then((completion) => resolve(JSON.parse(completion).choices[0].message.content), reject);
      return;
    }
    let reply = '';
    let rest = '';
    response.setEncoding('utf8').on('data', (received: string) => {
      rest += received;
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
        const event = rest.slice('data: '.length, end);
        rest = rest.slice(end + 2);
        if (event === '[DONE]') continue;
        const chunk: unknown = JSON.parse(event).choices[0]?.delta.content;
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
