import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { webServer } from '#runtime/http/web-server.ts';

let close = () => {};
afterEach(() => close());

/** The response to a request whose body comes one byte at a time, until the server ends the connection. */
async function responseTo(bytes: number, requestMilliseconds: number): Promise<string> {
  const server = webServer(async (request, response) => {
    for await (const _chunk of request);
    response.end('received');
  }, requestMilliseconds).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let left = bytes;
  const sending = setInterval(() => left-- > 0 && socket.write('x'), 1);
  close = () => {
    clearInterval(sending);
    socket.destroy();
    server.close();
  };
  socket.on('error', () => undefined);
  socket.write(`POST / HTTP/1.1\r\nHost: host\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`);
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString();
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return received;
}

it('a request that does not arrive in its time ends, although its client still sends', async () => {
  // A reset of the connection may overtake the response.
  expect(await responseTo(5000, 50)).toMatch(/^$|^HTTP\/1.1 408 /);
});

it('a slow request that arrives in its time is served', async () => {
  expect(await responseTo(3, 600_000)).toMatch(/^HTTP\/1.1 200 .*received/s);
});
