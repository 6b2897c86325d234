import { expect, it } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import type { ChatResource } from '#contract/chat.ts';
import type { UploadedFile } from '#contract/message.ts';
import { waitForBatchEnd } from '#support/batches.ts';
import type { ApiResponse } from '#support/client.ts';
import { exchange } from '#support/fuzz/raw-exchange.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service, { titles: false });

/** How an HTTP client writes its requests. */
interface Dialect {
  headers: [name: string, value: string][];
  json: (value: Record<string, unknown>) => string;
  /** A form with the file `a "b" \ ü.txt`, and an empty `data` as the client writes it. */
  form: { type: string; body: string };
}

const fileName = 'a "b" \\ ü.txt';
const lines = (...all: string[]): string => all.map((line) => `${line}\r\n`).join('');

/** json.dumps escapes non-ASCII characters, and the email package quotes file names. */
const python: Dialect = {
  headers: [
    ['Accept-Encoding', 'identity'],
    ['User-Agent', 'Python-urllib/3.13'],
  ],
  json: (value) =>
    JSON.stringify(value).replaceAll(
      /[^\0-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  form: {
    type: 'multipart/form-data; boundary="===============7330845974216740156=="',
    body: lines(
      '--===============7330845974216740156==',
      'Content-Type: text/plain',
      'MIME-Version: 1.0',
      String.raw`Content-Disposition: form-data; name="file"; filename="a \"b\" \\ ü.txt"`,
      '',
      'Hello',
      '--===============7330845974216740156==--',
    ),
  },
};

/** encoding/json escapes <, > and &, and ends with a line break; mime/multipart escapes quotes and backslashes. */
const go: Dialect = {
  headers: [
    ['User-Agent', 'Go-http-client/1.1'],
    ['Accept-Encoding', 'gzip'],
  ],
  json: (value) =>
    `${JSON.stringify(value).replaceAll(/[<>&]/g, (marker) => `\\u00${marker.charCodeAt(0).toString(16)}`)}\n`,
  form: {
    type: 'multipart/form-data; boundary=5e0f1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6',
    body: lines(
      '--5e0f1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6',
      String.raw`Content-Disposition: form-data; name="file"; filename="a \"b\" \\ ü.txt"`,
      'Content-Type: text/plain',
      '',
      'Hello',
      '--5e0f1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6',
      'Content-Disposition: form-data; name="data"',
      '',
      '',
      '--5e0f1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6--',
    ),
  },
};

const nothing = { external_user_id: null, attached_file_uuids: null, history_id: null, webhook: null };

/**
 * The client writes all fields of a type, also null ones, after a byte order mark. Names of form parts have no quotes.
 */
const csharp: Dialect = {
  headers: [],
  json: (value) => `\ufeff${JSON.stringify({ ...nothing, ...value })}`,
  form: {
    type: 'multipart/form-data; boundary="f6a1c0de-8a52-4b0e-9c9e-3d6b8c1e7a90"',
    body: lines(
      '--f6a1c0de-8a52-4b0e-9c9e-3d6b8c1e7a90',
      'Content-Type: text/plain',
      `Content-Disposition: form-data; name=file; filename="a.txt"; filename*=utf-8''a%20%22b%22%20%5C%20%C3%BC.txt`,
      '',
      'Hello',
      '--f6a1c0de-8a52-4b0e-9c9e-3d6b8c1e7a90',
      'Content-Type: application/json; charset=utf-8',
      'Content-Disposition: form-data; name=data',
      '',
      '\ufeff{"scope":null}',
      '--f6a1c0de-8a52-4b0e-9c9e-3d6b8c1e7a90--',
    ),
  },
};

it.each<[string, Dialect]>([
  ["Python's standard library", python],
  ['Go', go],
  ['C#', csharp],
])('a client in %s chats, uploads a file and runs a batch', async (_name, { headers, json, form }) => {
  const { port, pathname } = new URL(service.baseUrl);
  const post = async <Data>(path: string, type: string, body: string): Promise<Data> => {
    const response = await exchange(Number(port), {
      method: 'POST',
      target: pathname + path,
      headers: [...headers, ['x-api-key', tenant.apiKey], ['Content-Type', type]],
      body: Buffer.from(body),
      framing: 'length',
    });
    return dataOf<Data>({ ...response, body: JSON.parse(response?.text ?? 'null') } as ApiResponse<Data>);
  };
  const postJson = <Data>(path: string, value: Record<string, unknown>): Promise<Data> =>
    post(path, 'application/json; charset=utf-8', json(value));

  const agent_id = tenant.agentId;
  const chat = await postJson<ChatResource>('/chats', { name: 'Größe <1> 😀', agent_id });
  expect(chat).toMatchObject({ name: 'Größe <1> 😀', external_user_id: null });
  const file = await post<UploadedFile>('/chats/upload-file', form.type, form.body);
  expect(file).toMatchObject({ original_name: fileName, size: 5, scope: 'persistent' });

  const message = { agent_id, message: 'Grüße & <b>', stream: false, attached_file_uuids: [file.uuid] };
  expect(await postJson<string>(`/chats/${chat.id}/messages`, message)).toContain('Grüße & <b>');
  expect(await tenant.history(chat)).toMatchObject([
    { content: message.message, attached_files: [{ original_name: fileName }] },
    { role: 'assistant' },
  ]);

  const batch = await postJson<BatchResource>('/batches', {
    agent_id,
    requests: [{ custom_id: 'one', message: 'Hi', ...nothing, agent_id: null, name: null }],
  });
  expect(await waitForBatchEnd(tenant.client, batch.id)).toMatchObject({
    status: 'completed',
    completed_requests: 1,
  });
});
