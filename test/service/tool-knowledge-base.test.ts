import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { chatWithTool } from '#support/demo-tools.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { createTenant } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const type = 'consultant_retrieve_context_source';
const knowledgeBaseId = 'ABCDE12345';

interface ApiResponse {
  status: number;
  type?: string;
  body: unknown;
}

let received: { path: string | undefined; body: unknown; signed: boolean }[];
let respond: (request: IncomingMessage) => ApiResponse;
const bedrock = createServer(async (request, response) => {
  const body: unknown = JSON.parse(await text(request));
  const signed = request.headers.authorization?.includes('/bedrock/aws4_request') ?? false;
  received.push({ path: request.url, body, signed });
  const { status, type: errorType, body: modelText } = respond(request);
  response
    .writeHead(status, {
      'Content-Type': 'application/json',
      ...(errorType !== undefined && { 'x-amzn-ErrorType': errorType }),
    })
    .end(JSON.stringify(modelText));
});
const { url } = closeAfterTests(await listenLocally(bedrock));
const service = await useService({
  maxConcurrency: 1,
  variables: { AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME: url },
});
const tenant = await createTenant({ titles: false });

const open = (config: Record<string, unknown> = {}) => {
  received = [];
  return chatWithTool(service, tenant, type, { knowledge_base_id: knowledgeBaseId, ...config });
};

describe('a knowledge base of Amazon Bedrock', () => {
  it('is asked in place of the documents, and its passages name their source', async () => {
    const webLocation = { url: 'https://example.com/refunds' };
    respond = () => ({
      status: 200,
      body: {
        retrievalResults: [
          {
            content: { type: 'TEXT', text: 'Refunds take fourteen days.' },
            location: { type: 'S3', s3Location: { uri: 's3://handbook/refunds.pdf' } },
            score: 0.87654321,
            metadata: { 'x-amz-bedrock-kb-document-page-number': 3, 'x-amz-bedrock-kb-chunk-id': 'c' },
          },
          { content: { text: 'See the site.' }, location: { type: 'WEB', webLocation }, score: 0.5 },
          { content: { text: 'From elsewhere.' } },
        ],
      },
    });
    const chat = await open({ max_passages: 3 });
    expect(await chat.search('refund')).toEqual({
      results: [
        {
          text: 'Refunds take fourteen days.',
          source: { type: 's3', uri: 's3://handbook/refunds.pdf', page: 3 },
          score: 0.8765,
        },
        { text: 'See the site.', source: { type: 'web', uri: 'https://example.com/refunds' }, score: 0.5 },
        { text: 'From elsewhere.', source: { type: 'unknown' }, score: 0 },
      ],
    });
    expect(received).toEqual([
      {
        path: `/knowledgebases/${knowledgeBaseId}/retrieve`,
        body: {
          retrievalQuery: { text: 'refund' },
          retrievalConfiguration: { vectorSearchConfiguration: { numberOfResults: 3 } },
        },
        signed: true,
      },
    ]);
  });

  it.each([
    ['AccessDeniedException', 403, 'This service may not query the knowledge base'],
    ['ResourceNotFoundException', 404, 'The knowledge base does not exist'],
    ['ValidationException', 400, 'The knowledge base could not answer'],
    ['ThrottlingException', 429, 'The knowledge base is busy; it may answer later'],
  ])('that answers %s is a failed step in words of ours', async (errorType, status, message) => {
    respond = () => ({ status, type: errorType, body: { message: 'arn:aws:iam::1:role/secret' } });
    const chat = await open();
    await chat.say(`${type} {"query":"refund"}`);
    expect((await chat.lastStep()).result).toEqual({ success: false, data: { message } });
    expect(received).toHaveLength(errorType === 'ThrottlingException' ? 3 : 1);
  });
});
