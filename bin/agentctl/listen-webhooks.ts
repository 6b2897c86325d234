import { once } from 'node:events';
import { createServer, type IncomingMessage, request as requestPlain, type ServerResponse } from 'node:http';
import { request as requestSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Command, InvalidArgumentError } from 'commander';
import type { WebhookPayload } from '#contract/batch.ts';
import { isHttpUrl } from '#contract/urls.ts';
import { unwrapWebhook, WebhookVerificationError } from '#lib/client/index.ts';
import { reasonOf } from '#local/data/state-file.ts';
import { rejectPages } from '#local/wire/reject-pages.ts';
import { print, printError } from '../terminal.ts';
import { readPort } from '../whole-number.ts';
import { clientReport, type Result, report } from './report.ts';

interface Options {
  port: number;
  forward?: URL;
  secret?: string;
}

type FindSecrets = (batchId: string) => Promise<readonly string[]>;

const maxBytes = 1024 * 1024;

/** As long as the service waits for the response of a receiver. */
const forwardMilliseconds = 15_000;

/** @param secretsOf not used with the option `--secret` */
export function addListener(group: Command, secretsOf: FindSecrets): void {
  group
    .command('listen')
    .description('receive webhooks on this machine: check each signature, print the event, and forward it')
    .option('--port <number>', 'the port on 127.0.0.1; 0 takes a free one', readPort, 8088)
    .option(
      '--forward <url>',
      'where each call with a right signature goes, with its bytes and headers',
      readUrl,
    )
    .option(
      '--secret <secret>',
      "the secret of the calls; by default that of each call's batch in the local run",
    )
    .action((options: Options, command: Command) => {
      const { json = false } = command.optsWithGlobals<{ json?: true }>();
      const { secret } = options;
      const reportOf = secret === undefined ? report : clientReport;
      const secrets: FindSecrets = secret === undefined ? secretsOf : async () => [secret];
      return reportOf((given: Options, _command: Command) => listen(given, secrets, json))(options, command);
    });
}

function readUrl(text: string): URL {
  if (!isHttpUrl(text)) throw new InvalidArgumentError('It must be an http or https URL.');
  return new URL(text);
}

async function listen({ port, forward }: Options, secretsOf: FindSecrets, asJson: boolean): Promise<Result> {
  let received = 0;
  const server = createServer((request, response) => {
    receive(request, { secretsOf, forward }).then(
      ({ event, body, isSigned, forwarded }) => {
        received += 1;
        const title = `${event.event}, ${isSigned ? 'signed' : 'not signed'}${resultOf(forwarded)}`;
        const json = { ...event, signed: isSigned, forwarded: forwarded?.status ?? null };
        print(asJson ? [JSON.stringify(json)] : [title, body.toString()]);
        response.writeHead(forwarded?.status ?? 200, forwarded?.headers).end();
      },
      (error: Error) => reject(request, response, error),
    );
  });
  rejectPages(server);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error: unknown) => {
    throw new Error(`127.0.0.1:${port} cannot be used: ${reasonOf(error)}. --port takes another one`);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  print(asJson ? [JSON.stringify({ url })] : [`Listening. Give batches the webhook ${url}. Ctrl-C ends it.`]);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  server.close();
  server.closeAllConnections();
  return { json: { received }, lines: [`${received} calls received`] };
}

const rejected = (status: number, message: string): Error =>
  Object.assign(new Error(message), { rejectedWith: status });

function reject(
  request: IncomingMessage,
  response: ServerResponse,
  error: Error & { rejectedWith?: number },
): void {
  const { rejectedWith: status = 500, message: reason } = error;
  printError([`A call was rejected with ${status}: ${reason}`]);
  request.resume();
  response.writeHead(status).end(`${reason}\n`);
}

async function receive(
  request: IncomingMessage,
  { secretsOf, forward }: { secretsOf: FindSecrets; forward: URL | undefined },
) {
  if (request.method !== 'POST') throw rejected(405, 'A webhook is a POST');
  const body = await readBody(request);
  const event = parse(body);
  const secrets = await secretsOf(event.data.id);
  const isSigned = secrets.length > 0;
  if (isSigned)
    await unwrapWebhook(body, request.headers, { secret: secrets }).catch((error: unknown) => {
      throw error instanceof WebhookVerificationError ? rejected(400, error.message) : error;
    });
  const forwarded = forward && (await forwardTo(forward, request, body));
  return { event, body, isSigned, forwarded };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw rejected(413, `The body has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(body: Buffer): WebhookPayload {
  try {
    const event = JSON.parse(body.toString()) as WebhookPayload;
    if (typeof event.data.id === 'string') return event;
  } catch {
    // The error below reports it.
  }
  throw rejected(400, 'The body is no event of a batch');
}

const resultOf = (forwarded: Awaited<ReturnType<typeof forwardTo>> | undefined): string =>
  forwarded === undefined ? '' : `, forwarded: ${forwarded.failure ?? forwarded.status}`;

const ofConnection = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length']);

async function forwardTo(url: URL, { rawHeaders }: IncomingMessage, body: Buffer) {
  const given = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 && !ofConnection.has(name.toLowerCase()) ? [name, rawHeaders[index + 1] ?? ''] : [],
  );
  const headers = ['Host', url.host, ...given, 'Content-Length', String(body.length), 'Connection', 'close'];
  const signal = AbortSignal.timeout(forwardMilliseconds);
  const send = url.protocol === 'https:' ? requestSecure : requestPlain;
  try {
    const sent = send(url, { method: 'POST', headers, agent: false, signal }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.on('error', () => undefined).resume();
    const retryAfter = response.headers['retry-after'];
    const kept = retryAfter === undefined ? {} : { 'Retry-After': retryAfter };
    return { status: response.statusCode ?? 502, headers: kept };
  } catch (error) {
    if (!signal.aborted) return { status: 502, failure: reasonOf(error) };
    return { status: 504, failure: `no response in ${forwardMilliseconds / 1000} s` };
  }
}
