import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';

/** Addresses of a name by the type of the query. `failure` is SERVFAIL; no entry is no response at all. */
export type DnsNames = Record<string, Partial<Record<'A' | 'AAAA', readonly string[] | 'failure'>>>;

/** A DNS server over UDP on loopback, with `queries` such as `A name.test`. */
export async function startDnsServer(names: DnsNames) {
  const queries: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    queries.push(`${type} ${name}`);
    const answer = names[name]?.[type];
    if (answer !== undefined) socket.send(responseTo(query, end, answer), port, address);
    socket.emit('answered');
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    async received(different: number): Promise<void> {
      while (new Set(queries).size < different) await once(socket, 'answered');
    },
    close: async () => void (await socket[Symbol.asyncDispose]()),
  };
}

/** RFC 1035, section 4.1.2. */
function questionOf(query: Buffer): { name: string; type: 'A' | 'AAAA'; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  // The resolver may mix the case of letters to make its queries hard to forge.
  const name = labels.join('.').toLowerCase();
  return { name, type: query.readUInt16BE(at + 1) === 28 ? 'AAAA' : 'A', end: at + 5 };
}

function responseTo(query: Buffer, end: number, answer: readonly string[] | 'failure'): Buffer {
  const addresses = answer === 'failure' ? [] : answer;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(answer === 'failure' ? 0x81_82 : 0x81_80, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, query.subarray(12, end), ...addresses.map(record)]);
}

function record(address: string): Buffer {
  const data = Buffer.from(ipaddr.parse(address).toByteArray());
  const type = data.length === 16 ? 28 : 1;
  // The name of the question, the type, the class IN, 60 seconds.
  return Buffer.concat([Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]), data]);
}
