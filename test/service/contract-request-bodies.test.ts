import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '#support/client.ts';
import { type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { type Service, startService } from '#support/service.ts';

let service: Service;
let tenant: OpenTenant;
beforeAll(async () => {
  service = await startService();
  tenant = await openTenant(service);
});
afterAll(() => service.close());

/** Every route that takes a JSON body, with one that it takes. */
const posts: [name: string, path: string, body: (agentId: string) => object][] = [
  ['POST /chats', '/chats', (agent_id) => ({ name: 'A', agent_id })],
  ['POST messages', '/chats/1/messages', (agent_id) => ({ message: 'Hi', stream: false, agent_id })],
  [
    'POST feedbacks',
    '/chats/1/messages/1/feedbacks',
    () => ({ type: 'sys_helpful', external_user_id: 'user-1' }),
  ],
];

/** As `fetch` sends bytes: without a Content-Type unless one is given. */
async function postBytes(path: string, text: string, contentType?: string): Promise<Answer> {
  const response = await fetch(service.baseUrl + path, {
    method: 'POST',
    headers: {
      'x-api-key': tenant.apiKey,
      ...(contentType !== undefined && { 'Content-Type': contentType }),
    },
    body: new TextEncoder().encode(text),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer['body'],
  };
}

describe.each(posts)('%s', (_name, path, bodyOf) => {
  it.each([
    ['broken', '{"name":', 'The body is not valid JSON'],
    ['empty', '', 'The body is not valid JSON'],
    ['no JSON', 'name=A', 'The body is not valid JSON'],
    ['followed by more', '{} {}', 'The body is not valid JSON'],
    ['an array', '[]', 'The body must be an object'],
    ['null', 'null', 'The body must be an object'],
    ['a string', '"text"', 'The body must be an object'],
    ['a number', '5', 'The body must be an object'],
  ])('refuses a body that is %s', async (_what, body, message) => {
    expect(summaryOf(await postBytes(path, body, 'application/json'))).toBe(`400/10006 ${message}`);
  });

  it.each([
    ['none', undefined],
    ['text', 'text/plain'],
    ['a form', 'application/x-www-form-urlencoded'],
    ['a form with files', 'multipart/form-data; boundary=x'],
    ['almost JSON', 'application/jsonp'],
  ])('refuses a Content-Type that is %s', async (_what, contentType) => {
    const answer = await postBytes(path, JSON.stringify(bodyOf(tenant.agentId)), contentType);
    expect(summaryOf(answer)).toBe('400/10006 Content-Type must be application/json');
  });

  it.each([
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset=UTF-8',
    'application/vnd.client+json',
  ])('reads a body of the type %s', async (contentType) => {
    const answer = await postBytes(path, JSON.stringify(bodyOf(tenant.agentId)), contentType);
    expect(answer.body.message ?? '').not.toContain('Content-Type');
    expect([200, 404]).toContain(answer.status);
  });
});
