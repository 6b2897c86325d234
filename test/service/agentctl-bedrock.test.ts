import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, vi } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { runAgentctlCommand } from '#support/agentctl-process.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { ended } from '#support/command-end.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { createPublishedAgent, createTenant } from '#support/service.ts';
import { useService } from '#support/use-service.ts';
import { checkedAgent, useListed } from '../../bin/agentctl/read-agent.ts';

const listed = 'eu.amazon.nova-lite-v1:0';

const service = await useService();
const folder = await temporaryFolder('agentctl-');
const { workspaceId } = await createTenant();
/** A server that stands in for CloudFormation and STS of an AWS account. */
const server = createServer(async (request, response) => {
  const received = await text(request);
  response
    .setHeader('Content-Type', 'text/xml')
    .end(received.includes('Action=GetCallerIdentity') ? callerIdentity : describeStacks);
});
const account = closeAfterTests(await listenLocally(server));

const callerIdentity = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
    <Arn>arn:aws:iam::123456789012:user/operator</Arn><UserId>AIDAOPERATOR</UserId><Account>123456789012</Account>
    </GetCallerIdentityResult></GetCallerIdentityResponse>`;

const member = (key: string, value: string) =>
  `<member><OutputKey>${key}</OutputKey><OutputValue>${value.replaceAll('"', '&quot;')}</OutputValue></member>`;

const describeStacks = `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult>
    <Stacks><member><StackName>stack</StackName><StackStatus>CREATE_COMPLETE</StackStatus>
    <CreationTime>2026-01-01T00:00:00Z</CreationTime><Outputs>
    ${member('DataTableName', service.run.outputs.DataTableName ?? '')}${member('BedrockModels', JSON.stringify([listed]))}
    </Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;

const listing = (models: string[] | undefined) => useListed({ BedrockModels: models });
const check = (model: string) => checkedAgent('agent.json', 'ws', { name: 'Agent', llm_model: model });

const other = 'bedrock:anthropic.claude-v2';

it('agents may have a Bedrock model that the stage lists, and those of other providers', async () => {
  listing([listed]);
  expect(await check(`bedrock:${listed}`)).toMatchObject({ llm_model: `bedrock:${listed}` });
  await expect(check(other)).rejects.toMatchObject({
    lines: [
      expect.stringMatching(
        /^agent\.json: llm_model bedrock:anthropic\.claude-v2 is not in the stage setting bedrockModels.*bedrock:eu\.amazon\.nova-lite-v1:0/,
      ),
    ],
  });
  listing([]);
  expect(await check('openai:gpt-5')).toMatchObject({ llm_model: 'openai:gpt-5' });
  await expect(check(`bedrock:${listed}`)).rejects.toMatchObject({
    lines: [expect.stringMatching(/it is empty\. Add it to the stage in cdk\.json/)],
  });
});

it('says that the model was not checked when the target is older than the list', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
  listing(undefined);
  try {
    expect(await check(`bedrock:${listed}`)).toMatchObject({ name: 'Agent' });
    expect(printed.mock.calls.join()).toContain('not checked whether roles may invoke');
  } finally {
    printed.mockRestore();
  }
});

const fileFor = async (model: string): Promise<string> => {
  const file = join(folder, 'agent.json');
  await writeFile(file, JSON.stringify({ name: 'Agent', llm_model: model }));
  return file;
};

it('agentctl refuses to update to another, and to publish one that is no longer listed', async () => {
  const agentId = await createPublishedAgent(workspaceId, { name: 'Agent', llm_model: `bedrock:${listed}` });
  const { run } = agentctlOf(service);
  expect(await run('agents', 'update', agentId, '--file', await fileFor(other))).toMatchObject(
    ended(1, /bedrockModels/),
  );
  expect(await run('agents', 'publish', agentId)).toMatchObject(
    ended(1, new RegExp(`agent ${agentId}: llm_model`)),
  );
});

it("agentctl reads a deployed stack's list from its outputs", async () => {
  const create = async (model: string) =>
    runAgentctlCommand(
      'a stack',
      [
        ...['agents', 'create', '--workspace', workspaceId, '--file', await fileFor(model)],
        ...['--stack', 'stack', '--json'],
      ],
      {
        AWS_ENDPOINT_URL_CLOUDFORMATION: account.url,
        AWS_ENDPOINT_URL_STS: account.url,
        AWS_ENDPOINT_URL_DYNAMODB: service.run.endpoints.dynamodb,
      },
    );
  expect(await create(`bedrock:${listed}`)).toMatchObject(ended(0, /^$/));
  expect(await create(other)).toMatchObject({ code: 1 });
});
