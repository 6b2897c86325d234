import * as z from 'zod';
import { agentTestRequest } from '#contract/agent.ts';
import { describeIssue } from '#contract/describe-issues.ts';
import { ServiceError } from '#contract/errors.ts';
import { uuid } from '#contract/fields.ts';
import { agentResource } from '#domain/agents/agent.ts';
import { createAgent, findAgent, publishAgent, rollBackAgent, updateAgent } from '#domain/agents/agents.ts';
import { hashApiKey, isUsable } from '#domain/workspaces/api-key.ts';
import type { CallResult, SiteCalls } from '#local/site/serve-site.ts';
import { agentStore, apiKeys, clock } from '#runtime/composition/services.ts';
import { checkedAgent, checkModels } from '../agentctl/read-agent.ts';
import { describeFailure, isBug, Mistakes } from '../failures.ts';
import { operatorServices as services } from '../operator-services.ts';
import { printError } from '../terminal.ts';
import { testAgent } from '../test-agent.ts';

async function workspaceOf(apiKey: string): Promise<string> {
  const key = await apiKeys().byHash(hashApiKey(apiKey));
  if (key === undefined || !isUsable(key, clock.now())) throw new Error('The API key is unknown');
  return key.workspaceId;
}

async function readAgent(agentId: string) {
  const agent = await findAgent(services(), agentId);
  const versions = (await Array.fromAsync(agentStore().versions(agent.workspaceId, agentId))).flat();
  return {
    ...agentResource(agent),
    definition: agent.definition,
    versions: versions.toReversed().map(({ id, number, publishedAt, copyOf, definition }) => ({
      ...{ number, published_at: publishedAt, copy_of: copyOf ?? null, definition },
      published: id === agent.publishedVersionId,
    })),
  };
}

const where = 'The agent';
const ofKey = z.object({ api_key: z.string() });
const ofAgent = z.object({ agent_id: uuid });

const operation =
  <Input>(schema: z.ZodType<Input>, run: (input: Input) => Promise<object>) =>
  async (input: unknown): Promise<object> => {
    const parsed = schema.safeParse(input, { reportInput: true });
    if (parsed.success) return run(parsed.data);
    throw new Mistakes(parsed.error.issues.map((issue) => describeIssue(issue, 'The body')));
  };

const operations: Readonly<Record<string, ReturnType<typeof operation>>> = {
  list: operation(ofKey, async ({ api_key }) => ({
    agents: (await agentStore().list(await workspaceOf(api_key))).map(agentResource),
  })),
  get: operation(ofAgent, ({ agent_id }) => readAgent(agent_id)),
  create: operation(ofKey.extend({ definition: z.unknown() }), async ({ api_key, definition: input }) => {
    const workspaceId = await workspaceOf(api_key);
    const definition = await checkedAgent(where, workspaceId, input);
    return readAgent((await createAgent(services(), { workspaceId, definition })).id);
  }),
  update: operation(ofAgent.extend({ definition: z.unknown() }), async ({ agent_id, definition: input }) => {
    const { workspaceId } = await findAgent(services(), agent_id);
    const definition = await checkedAgent(where, workspaceId, input);
    await updateAgent(services(), { agentId: agent_id, definition });
    return readAgent(agent_id);
  }),
  publish: operation(ofAgent, async ({ agent_id }) => {
    await checkModels(where, (await findAgent(services(), agent_id)).definition);
    await publishAgent(services(), agent_id);
    return readAgent(agent_id);
  }),
  rollback: operation(ofAgent.extend({ to: z.int() }), async ({ agent_id, to }) => {
    await rollBackAgent(services(), agent_id, to, ({ definition }) => checkModels(where, definition));
    return readAgent(agent_id);
  }),
  test: operation(agentTestRequest, testAgent),
};

/** @param token a secret of the run, which each call must have */
export const operatorCalls = (token: string): SiteCalls => ({
  token,
  async call(name, input) {
    const found = Object.hasOwn(operations, name) ? operations[name] : undefined;
    if (found === undefined) return failed(404, [`There is no operation ${name}`]);
    return found(input).then((body) => ({ status: 200, body }), failureOf);
  },
});

const failed = (status: number, errors: readonly string[]): CallResult => ({ status, body: { errors } });

function failureOf(error: unknown): CallResult {
  if (error instanceof Mistakes) return failed(400, error.lines);
  if (error instanceof ServiceError) return failed(error.status, [error.message]);
  if (!isBug(error)) return failed(400, [describeFailure(error)]);
  printError(describeFailure(error).split('\n'));
  return failed(500, ['The operation has failed. The terminal of the run says why.']);
}
