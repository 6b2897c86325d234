import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { AccessControl } from '../iam/access-control.ts';
import { checkSignature } from '../iam/authenticate.ts';
import { accessKeyOf } from '../wire/access-key-of.ts';
import { deniedAwsJson } from '../wire/denied-aws-json.ts';
import { rejectPages } from '../wire/reject-pages.ts';
import { claimPort, portOf, releasePort } from '../wire/runner-ports.ts';
import { preserveGroups } from './message-groups.ts';

/** Starts the emulator on 127.0.0.1 only. Its own start function would listen on all addresses. */
export async function serveQueues(
  region: string,
  accountId: string,
  { rejectionOf, rules }: Pick<AccessControl, 'rejectionOf' | 'rules'>,
) {
  const { buildApp } = await import('fauxqs');
  const app = buildApp({ logger: false, defaultRegion: region });
  let endpoint = '';
  const urlOf = (queueName: string) => `${endpoint}/${accountId}/${queueName}`;
  // Replaces the emulator's host name in a queue URL, because the name does not resolve on every machine.
  const ownUrl = (url: string) => urlOf(url.split('/').pop() ?? '');

  const arnIn = (body: unknown): string => {
    const { QueueUrl, QueueName } = (body ?? {}) as { QueueUrl?: string; QueueName?: string };
    const name = QueueUrl?.split('/').pop() ?? QueueName;
    return name === undefined ? '*' : `arn:aws:sqs:${region}:${accountId}:${name}`;
  };
  const responding = new WeakMap<object, (response: unknown) => void>();
  const bodies = new WeakMap<object, Buffer>();
  app.addHook('preParsing', async (request, _reply, payload) => {
    const body = await buffer(payload);
    bodies.set(request, body);
    return Readable.from([body]);
  });
  app.addHook('preHandler', async (request, reply) => {
    const action = String(request.headers['x-amz-target']).split('.').pop() ?? '';
    const { method, url, headers } = request;
    const forgery = checkSignature({ method, url, headers }, bodies.get(request) ?? '', rules);
    const rejection =
      forgery ??
      rejectionOf(accessKeyOf(headers), [
        // IAM has no batch actions: it checks the action of the entries.
        { action: `sqs:${action.replace(/Batch$/, '')}`, resource: arnIn(request.body) },
      ]);
    if (rejection) return reply.code(400).send(deniedAwsJson(rejection));
    if (request.body) responding.set(request, preserveGroups(action, request.body));
  });
  app.addHook('preSerialization', async (request, _reply, payload: unknown) => {
    responding.get(request)?.(payload);
    const response = payload as { QueueUrl?: string; QueueUrls?: string[] };
    if (response.QueueUrl) response.QueueUrl = ownUrl(response.QueueUrl);
    if (response.QueueUrls) response.QueueUrls = response.QueueUrls.map(ownUrl);
    return payload;
  });
  rejectPages(app.server);
  endpoint = await app.listen({ port: 0, host: '127.0.0.1' });
  claimPort(portOf(endpoint));
  return {
    endpoint,
    urlOf,
    async close() {
      await app.close();
      releasePort(portOf(endpoint));
    },
  };
}
