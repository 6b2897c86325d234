import { writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import { ChatBatchClient } from '#lib/client/index.ts';
import { clientTimeouts, DeadlineRetries } from '#runtime/environment/environment.ts';
import { certificate } from '#support/certificate.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { noteAddresses } from '../../bin/agentctl/connection-failures.ts';
import { describeAwsFailure } from '../../bin/agentctl/describe-aws-failure.ts';
import { runAgentctl } from '../../bin/agentctl/run-agentctl.ts';
import { describeServiceFailure } from '../../bin/agentctl/service-client.ts';
import { targetResources } from '../../bin/local/connection.ts';

noteAddresses();

/** Words of Node.js, OpenSSL, the AWS SDK and AWS. */
const words =
  /smithy|SDK|socket|getaddrinfo|errno|connection (refused|timed out)|\bE[A-Z]{4,}|_CERT\b|Error\b|at \w+ \(/;

let respond: (response: ServerResponse) => void = () => {};
const stub = closeAfterTests(
  await listenLocally(
    createServer(async (request, response) => {
      await text(request);
      respond(response);
    }),
  ),
);
const secure = closeAfterTests(await listenLocally(createTlsServer(certificate)));
const secureUrl = secure.url.replace('http:', 'https:');
const { url: closed, close } = await listenLocally(createServer());
await close();

const rejectWith = (name: string, status: number, message = 'Words of AWS') => {
  respond = (response) =>
    void response
      .writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'R1' })
      .end(JSON.stringify({ __type: `com.amazonaws#${name}`, message, Message: message }));
};

async function failureOf(endpoint: string, requestTimeout = 30_000): Promise<unknown> {
  const client = new DynamoDBClient({
    ...{ endpoint, region: 'us-east-1', maxAttempts: 1 },
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    requestHandler: { requestTimeout, throwOnRequestTimeout: true },
  });
  return client.send(new ListTablesCommand({})).catch((error: unknown) => error);
}

const denial =
  'User: arn:aws:iam::1:user/ann is not authorized to perform: dynamodb:Scan on resource: arn:aws:dynamodb:x because no identity-based policy allows it';

it.each<[name: string, sentence: RegExp, status?: number, message?: string]>([
  ['ExpiredTokenException', /^The AWS credentials have expired: sign in with aws sso login, or set /],
  ['RequestExpired', /^AWS does not accept the time of this machine: set its clock$/],
  ['UnrecognizedClientException', /^AWS does not accept the credentials: check AWS_PROFILE/],
  [
    'AccessDeniedException',
    /^AWS does not allow arn:aws:iam::1:user\/ann to do dynamodb:Scan on arn:aws:dynamodb:x: add the permission \(docs\/operators\.md\), or use other credentials$/,
    ...([400, denial] as const),
  ],
  [
    'AccessDenied',
    /^AWS does not allow the credentials to do this: add the permission /,
    403,
    'Access Denied',
  ],
  ['ThrottlingException', /^AWS takes no more calls at this rate: run the command again in some minutes$/],
  ['ResourceNotFoundException', /^AWS does not have what the outputs of the stack name: check --stack, /],
  [
    'InternalServerError',
    /^AWS could not carry out a call \(500, request id R1\): run the command again /,
    500,
  ],
  ['ValidationException', /^AWS has rejected a call \(ValidationException, 400, request id R1\): check /],
])('%s of AWS says in a sentence what to do', async (name, sentence, status = 400, message = undefined) => {
  rejectWith(name, status, message);
  const described = describeAwsFailure(await failureOf(stub.url), 'stack');
  expect(described).toMatch(sentence);
  expect(described).not.toContain('Words of AWS');
});

const remedies: Readonly<Record<string, string>> = {
  'has a certificate of nobody': 'set NODE_EXTRA_CA_CERTS',
  'speaks no TLS': 'Check whether the address is http or https',
};

it.each<[problem: string, address: string, reason: RegExp]>([
  ['refuses', closed, /nothing accepts connections there/],
  ['has no name', 'http://nowhere.invalid', /the name (is unknown|cannot be looked up)/],
  ['does not respond', stub.url, /it did not respond in time/],
  ['breaks off', `${stub.url}/`, /it closed the connection/],
  [
    'has a certificate of nobody',
    secureUrl,
    /its TLS certificate is (of no authority that this machine knows|for another name)/,
  ],
  ['speaks no TLS', stub.url.replace('http:', 'https:'), /it does not speak TLS as expected/],
])('names the address that %s, and what to do', async (problem, address, reason) => {
  respond = (response) => void (problem === 'breaks off' && response.socket?.destroy());
  const shown = address.replace(/\/$/, '');
  // First, so that no failure of the SDK has noted the address.
  if (problem !== 'does not respond') {
    const client = new ChatBatchClient({ baseUrl: `${shown}/api/v1`, apiKey: 'ak', maxRetries: 0 });
    const ofService = describeServiceFailure(await client.agents.list().catch((failure: unknown) => failure));
    expect(ofService).toMatch(reason);
    expect(ofService).not.toMatch(words);
    expect(ofService).toMatch(
      problem === 'breaks off'
        ? /^The connection to the service was lost: .*\. Run the command again$/
        : /^The service cannot be reached at \S+: .*\. Check /,
    );
    if (problem !== 'breaks off') expect(ofService).toContain(`at ${shown}: `);
  }
  const error = await failureOf(address, problem === 'does not respond' ? 100 : undefined);
  for (const [stack, remedy] of [
    ['stack', 'AWS_REGION and the network'],
    [undefined, 'npm start still runs'],
  ] as const) {
    const described = describeAwsFailure(error, stack);
    const system = stack === undefined ? 'The local run' : 'AWS';
    expect(described).toMatch(reason);
    expect(described?.startsWith(`${system} cannot be reached at ${shown}: `)).toBe(true);
    expect(described).toContain(remedies[problem] ?? remedy);
    expect(described).not.toMatch(words);
  }
});

const folder = await temporaryFolder('agentctl-failures-');
await writeFile(
  join(folder, 'connection.json'),
  JSON.stringify({
    ...{ pid: process.pid, base_url: stub.url, access_key_id: 'key', secret_access_key: 'secret' },
    ...Object.fromEntries(
      targetResources.flatMap(({ field, service }) => [
        [field, 'arn'],
        [`${service}_endpoint`, stub.url],
      ]),
    ),
    ...{ bedrock_models: [], bedrock_knowledge_bases: [] },
  }),
);
const variables = { ...process.env };
afterAll(() => {
  process.env = variables;
  process.exitCode = undefined;
});

it.each<[problem: string, variables: Record<string, string>, line: RegExp]>([
  ['no Region', { AWS_REGION: '' }, /^The AWS Region is missing or wrong: set AWS_REGION, /],
  ['no credentials', {}, /set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY$/],
  [
    'no such stack',
    { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
    /^There is no stack stack in eu-central-1: check /,
  ],
])('says what to do with --stack: %s', async (_, own, line) => {
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_CLOUDFORMATION: stub.url,
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_PROFILE: '',
    AWS_ACCESS_KEY_ID: '',
    AWS_SECRET_ACCESS_KEY: '',
    AWS_REGION: 'eu-central-1',
    ...own,
  });
  respond = (response) =>
    void response
      .writeHead(400, { 'Content-Type': 'text/xml' })
      .end(
        '<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id stack does not exist</Message></Error></ErrorResponse>',
      );
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  await runAgentctl(['node', 'agentctl', 'workspaces', 'list', '--stack', 'stack']);
  expect([process.exitCode, printed.mock.calls]).toEqual([1, [[expect.stringMatching(line)]]]);
});

it('describes failures of commands, and retries their calls for the time of the environment, once one has succeeded', async () => {
  const run = (...args: string[]) => runAgentctl(['node', 'agentctl', ...args, '--data', folder]);
  const silent = vi.spyOn(console, 'error').mockImplementation(() => {});
  const strategy = new DeadlineRetries(1);
  const retry = async () =>
    strategy.refreshRetryTokenForRetry(await strategy.acquireInitialRetryToken(''), {
      errorType: 'TRANSIENT',
    });
  try {
    rejectWith('AccessDeniedException', 400);
    await run('workspaces', 'list');
    const denied = expect.stringMatching(/^AWS does not allow the credentials to do this: /);
    expect([process.exitCode, silent.mock.calls]).toEqual([1, [[denied]]]);
    expect(clientTimeouts).toMatchObject({ connectionTimeout: 10_000, requestTimeout: 30_000 });
    await expect(retry()).rejects.toThrow();
    respond = (response) => void response.end('{}');
    await failureOf(stub.url);
    expect((await retry()).getRetryCount()).toBe(1);
    process.env.AGENT_SERVICE_RETRY_SECONDS = '0';
    await run('workspaces', 'get', 'x');
    await expect(retry()).rejects.toThrow();
    process.env.AGENT_SERVICE_RETRY_SECONDS = '1.5';
    silent.mockClear();
    await run('workspaces', 'list');
    expect([process.exitCode, silent.mock.calls]).toEqual([
      2,
      [['AGENT_SERVICE_RETRY_SECONDS must be whole seconds']],
    ]);
  } finally {
    silent.mockRestore();
  }
});
