import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import { runAgentctlCommand } from '#support/agentctl-process.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { ended } from '#support/command-end.ts';
import { listenLocally } from '#support/listen-locally.ts';
import type { CommandEnd } from '#support/serve-agentctl.ts';
import { createTenant } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const listed = 'eu.amazon.nova-lite-v1:0';

/** The outputs of the stack that CloudFormation describes. */
let outputs: Record<string, string>;
const service = await useService();
const folder = await temporaryFolder('agentctl-');
const { workspaceId } = await createTenant();
/** A server that stands in for CloudFormation and STS of an AWS account. */
const server = createServer(async (request, response) => {
  const received = await text(request);
  response
    .setHeader('Content-Type', 'text/xml')
    .end(received.includes('Action=GetCallerIdentity') ? callerIdentity : describeStacks(outputs));
});
const account = closeAfterTests(await listenLocally(server));

const callerIdentity = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
    <Arn>arn:aws:iam::123456789012:user/operator</Arn><UserId>AIDAOPERATOR</UserId><Account>123456789012</Account>
    </GetCallerIdentityResult></GetCallerIdentityResponse>`;

const describeStacks = (values: Record<string, string>): string => {
  const members = Object.entries(values).map(
    ([key, value]) =>
      `<member><OutputKey>${key}</OutputKey><OutputValue>${value.replaceAll('"', '&quot;')}</OutputValue></member>`,
  );
  return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult>
    <Stacks><member><StackName>stack</StackName><StackStatus>CREATE_COMPLETE</StackStatus>
    <CreationTime>2026-01-01T00:00:00Z</CreationTime><Outputs>${members.join('')}</Outputs></member></Stacks>
    </DescribeStacksResult></DescribeStacksResponse>`;
};

/** Runs agentctl until it ends. All local runs have the table of this service. */
const agentctl = (args: string[]): Promise<CommandEnd> =>
  runAgentctlCommand(args.includes('--stack') ? 'a stack' : 'a local run', args, {
    AWS_ENDPOINT_URL_CLOUDFORMATION: account.url,
    AWS_ENDPOINT_URL_STS: account.url,
    AWS_ENDPOINT_URL_DYNAMODB: service.run.endpoints.dynamodb,
  });

/** The arguments for a local run whose stage lists these models. */
async function localRun(models?: string[]): Promise<string[]> {
  const data = join(folder, models === undefined ? 'older' : `lists-${models.length}`);
  await mkdir(data, { recursive: true });
  await writeFile(
    join(data, 'connection.json'),
    JSON.stringify({
      pid: process.pid,
      access_key_id: operatorCredentials.accessKeyId,
      secret_access_key: operatorCredentials.secretAccessKey,
      data_table: service.run.outputs.DataTableName,
      dynamodb_endpoint: service.run.endpoints.dynamodb,
      bedrock_models: models,
    }),
  );
  return ['--data', data, '--json'];
}

async function fileFor(model: string): Promise<string> {
  const file = join(folder, `${model.replaceAll(/[^a-z0-9]/g, '-')}.json`);
  await writeFile(file, JSON.stringify({ name: 'Agent', llm_model: model }));
  return file;
}

const create = async (target: string[], model: string) =>
  agentctl(['agents', 'create', '--workspace', workspaceId, '--file', await fileFor(model), ...target]);

const agentOf = ({ stdout }: { stdout: string }): string => (JSON.parse(stdout) as { id: string }).id;

const other = 'bedrock:anthropic.claude-v2';

it.each<[what: string, lists: string[] | undefined, model: string, code: number, said: RegExp]>([
  ['takes agents whose Bedrock model is listed', [listed], `bedrock:${listed}`, 0, /^$/],
  ['takes other providers whatever is listed', [], 'openai:gpt-5', 0, /^$/],
  [
    'refuses others, and says which are listed',
    [listed],
    other,
    1,
    /bedrock-anthropic-claude-v2\.json: llm_model bedrock:anthropic\.claude-v2 is not in the stage setting bedrockModels.*bedrock:eu\.amazon\.nova-lite-v1:0/,
  ],
  [
    'says which setting to set when none is listed',
    [],
    `bedrock:${listed}`,
    1,
    /the stage setting bedrockModels.*it is empty\. Add it to the stage in cdk\.json/,
  ],
  [
    'says that it has not checked when the target is older than the list',
    undefined,
    `bedrock:${listed}`,
    0,
    /not checked whether roles may invoke/,
  ],
])('agentctl %s', async (_, lists, model, code, said) => {
  expect(await create(await localRun(lists), model)).toMatchObject(ended(code, said));
});

it('agentctl refuses to update to another, and to publish one that is no longer listed', async () => {
  const [target, none] = [await localRun([listed]), await localRun([])];
  const agentId = agentOf(await create(target, `bedrock:${listed}`));
  const publish = (to: string[]) => agentctl(['agents', 'publish', agentId, ...to]);
  expect(await publish(target)).toMatchObject(ended(0, /^$/));
  const update = ['agents', 'update', agentId, '--file', await fileFor(other), ...none];
  expect(await agentctl(update)).toMatchObject(ended(1, /bedrockModels/));
  expect(await publish(none)).toMatchObject(ended(1, new RegExp(`agent ${agentId}: llm_model`)));
});

it("agentctl reads a deployed stack's list from its outputs", async () => {
  const stack = ['--stack', 'stack', '--json'];
  outputs = {
    DataTableName: service.run.outputs.DataTableName ?? '',
    BedrockModels: JSON.stringify([listed]),
  };
  expect(await create(stack, `bedrock:${listed}`)).toMatchObject(ended(0, /^$/));
  expect(await create(stack, other)).toMatchObject({ code: 1 });
});
