import { keepGroups } from './message-groups.ts';

export interface QueueServer {
  readonly endpoint: string;
  urlOf(queueName: string): string;
  close(): Promise<void>;
}

/** The engine, on 127.0.0.1 alone: by its own start function it would listen on all addresses. */
export async function serveQueues(region: string, accountId: string): Promise<QueueServer> {
  const { buildApp } = await import('fauxqs');
  const app = buildApp({ logger: false, defaultRegion: region });
  let endpoint = '';
  const urlOf = (queueName: string) => `${endpoint}/${accountId}/${queueName}`;
  // The engine's own host name in queue URLs does not resolve on every machine.
  const ownUrl = (url: string) => urlOf(url.split('/').pop() ?? '');

  const answering = new WeakMap<object, (answer: unknown) => void>();
  app.addHook('preHandler', async (request) => {
    const action = String(request.headers['x-amz-target']).split('.').pop() ?? '';
    if (request.body) answering.set(request, keepGroups(action, request.body));
  });
  app.addHook('preSerialization', async (request, _reply, payload: unknown) => {
    answering.get(request)?.(payload);
    const answer = payload as { QueueUrl?: string; QueueUrls?: string[] };
    if (answer.QueueUrl) answer.QueueUrl = ownUrl(answer.QueueUrl);
    if (answer.QueueUrls) answer.QueueUrls = answer.QueueUrls.map(ownUrl);
    return payload;
  });
  endpoint = await app.listen({ port: 0, host: '127.0.0.1' });
  return { endpoint, urlOf, close: () => app.close() };
}
