import { describe, expect, it, vi } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openTenant } from '#support/open-tenant.ts';
import { boundary, filePart, form } from '#support/upload.ts';
import { type RawConnection, startUploadEndpoint } from '#support/upload-endpoint.ts';
import { useService } from '#support/use-service.ts';

const megabyte = 1024 * 1024;

const service = await useService();
const endpoint = closeAfterTests(await startUploadEndpoint(service));
const tenant = await openTenant(service);

const length = (bytes: number) => ['Content-Length', String(bytes)] as const;
const formType = ['Content-Type', `multipart/form-data; boundary=${boundary}`] as const;
const key = (apiKey: string) => ['x-api-key', apiKey] as const;

const body = form(filePart('a.txt', 'x'));
/** Sends the head of an upload with a good key, by default on a new connection. */
async function openUpload(bytes = body.length, given?: RawConnection) {
  const connection = given ?? (await endpoint.connect());
  connection.sendHead([endpoint.originSecret, key(tenant.apiKey), formType, length(bytes)]);
  return connection;
}

/** A response without a body, and nothing after it. */
const forbidden =
  /^HTTP\/1\.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n(?!.*HTTP).*\r\n\r\n$/s;

describe('a stranger, who does not know the secret of the distribution', () => {
  let strangers = 0;
  const openStranger = () => {
    strangers += 1;
    return endpoint.connect();
  };

  it.each([
    ['none', []],
    ['another one', [['x-origin-secret', 'x'.repeat(43)]]],
  ] as const)(
    'gets 403, which Lambda does not count as a failure, and is cut off, with a good key too: %s',
    async (_, secret) => {
      const connection = await openStranger();
      connection.sendHead([...secret, key(tenant.apiKey), formType, length(50 * megabyte)]);
      await connection.closed;
      expect(connection.received()).toMatch(forbidden);
    },
  );

  it('gets rid of no more than fits into the buffers of the two ends', async () => {
    const connection = await openStranger();
    connection.sendHead([formType, length(50 * megabyte)]);
    // Linux buffers at most 4 MB of a connection on the sending side and 6 MB on the receiving side.
    expect(await connection.sendBytes(50 * megabyte)).toBeLessThan(12 * megabyte);
    await connection.closed;
    expect(connection.received()).toMatch(forbidden);
  });

  it('is counted, and leaves a connection that others have alone', async () => {
    const uploading = await openUpload();
    for (let stranger = 0; stranger < 3; stranger += 1) {
      const connection = await openStranger();
      connection.sendHead([length(10)]);
      await connection.closed;
    }
    uploading.socket.write(body);
    await uploading.until('"error_code":0');
    uploading.socket.destroy();
    await vi.waitFor(() => expect(endpoint.sumOf('Strangers')).toBe(strangers), 60_000);
  });
});

describe('a sender whose key is wrong', () => {
  const responded = async (headers: readonly (readonly [string, string])[]) => {
    const connection = await endpoint.connect();
    connection.sendHead([endpoint.originSecret, formType, ...headers, length(50 * megabyte)]);
    await connection.until('"error_code":10001}');
    expect(connection.received()).toMatch(/^HTTP\/1\.1 400 .*\r\ncache-control: no-store\r\n/is);
    return connection;
  };

  // Concurrent, because each case waits.
  it.concurrent.each([
    ['a key that nobody has', [key('ak_wrong')]],
    ['no key', []],
  ] as const)(
    '%s is answered before its body has come, and cut off 3 s later, unlike a good one',
    async (_, headers) => {
      const slow = await openUpload();
      slow.socket.write(body.subarray(0, 100));
      const connection = await responded(headers);
      // Timers may fire a few milliseconds early.
      expect(await connection.closed).toBeGreaterThanOrEqual(2990);
      // A client with a valid key may take longer.
      slow.socket.write(body.subarray(100));
      await slow.until('"error_code":0');
      slow.socket.destroy();
    },
  );

  it.concurrent('is cut off also when it goes on sending, slowly', async () => {
    const connection = await responded([key('ak_wrong')]);
    const dripping = setInterval(() => connection.socket.write('x'), 50);
    await connection.closed;
    clearInterval(dripping);
    expect(connection.socket.bytesWritten).toBeLessThan(megabyte);
  });

  it('has its body taken away, and its connection kept, if that comes in time', async () => {
    const connection = await responded([key('ak_wrong')]);
    expect(await connection.sendBytes(50 * megabyte)).toBe(50 * megabyte);
    await openUpload(body.length, connection);
    connection.socket.write(body);
    await connection.until('"error_code":0');
    connection.socket.destroy();
  });
});

describe('a sender whose key is good', () => {
  it('may send the secret of the next generation too, as a deployment does', async () => {
    expect(endpoint.originSecrets).toHaveLength(2);
    for (const secret of endpoint.originSecrets) {
      const connection = await endpoint.connect();
      connection.sendHead([secret, key(tenant.apiKey), formType, length(body.length)]);
      connection.socket.write(body);
      await connection.until('"error_code":0');
      connection.socket.destroy();
    }
  });

  it('is told what is wrong after its body has come', async () => {
    const wrong = form(filePart('a.exe', 'x'));
    const connection = await openUpload(wrong.length);
    connection.socket.write(wrong.subarray(0, -1));
    // A complete request on another connection shows that enough time has passed for this one.
    const other = await openUpload(wrong.length);
    other.socket.write(wrong);
    await other.until('"error_code":10006');
    other.socket.destroy();
    expect(connection.received()).toBe('');
    connection.socket.write(wrong.subarray(-1));
    await connection.until('"error_code":10006');
    connection.socket.destroy();
  });
});
