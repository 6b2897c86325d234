import { Command } from 'commander';
import { agentDefinition } from '#contract/agent.ts';
import { createAgent, publishAgent } from '#domain/agents/agents.ts';
import { createApiKey } from '#domain/workspaces/api-keys.ts';
import { createWorkspace } from '#domain/workspaces/workspaces.ts';
import { ApiError, ChatBatchClient, ReplyFailedError, StreamInterruptedError } from '#lib/client/index.ts';
import { agentStore, apiKeys, clock, workspaces } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { operatorServices as services } from '../operator-services.ts';
import { print } from '../terminal.ts';
import { type Result, report } from './report.ts';
import { baseAddressOf } from './service-address.ts';
import { describeServiceFailure } from './service-client.ts';
import { type Finding, smokeSteps } from './smoke-steps.ts';
import type { TargetOptions } from './target.ts';

export function smokeCommand(): Command {
  return new Command('smoke')
    .description('check a service after its deployment: use it as a client, at its public address')
    .addHelpText('after', smokeHelp)
    .action(report((_options: unknown, command: Command) => smoke(command.optsWithGlobals<TargetOptions>())));
}

const workspaceName = 'agentctl smoke';

const smokeHelp = `
Prints a line for each step with its milliseconds. The first failed step ends the command with exit code 1, and the error
names its request id. No step is repeated. It uses the workspace "${workspaceName}", which it creates the first time, with the
model demo, which calls no provider. It revokes its key and deletes its chat. The file expires after a day.`;

/** The longest wait for a response, or for data of a stream. The gateway ends a buffered route after 29 s. */
const stepMilliseconds = 30_000;

/** An interrupted command revokes nothing, so its key also expires. */
const keyMilliseconds = 60 * 60 * 1000;

async function smoke(target: TargetOptions): Promise<Result> {
  const baseUrl = await baseAddressOf(target);
  const { workspaceId, agentId } = await openWorkspace();
  const expiresAt = new Date(clock.now().getTime() + keyMilliseconds);
  const { key, apiKey } = await createApiKey(services(), { workspaceId, name: 'smoke', expiresAt });
  let body = '';
  const clientWith = (text: string) =>
    new ChatBatchClient({
      baseUrl,
      apiKey: text,
      externalUserId: 'agentctl-smoke',
      // A retry could hide that one of two versions of the code fails.
      maxRetries: 0,
      timeout: stepMilliseconds,
      streamTimeout: stepMilliseconds,
      async fetch(...request) {
        const response = await fetch(...request);
        body = '';
        const noted = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(
          new TransformStream<string, string>({
            transform(chunk, controller) {
              body += chunk;
              controller.enqueue(chunk);
            },
          }),
        );
        return new Response(noted?.pipeThrough(new TextEncoderStream()), response);
      },
    });
  const { steps, cleanUp } = smokeSteps({
    client: clientWith(apiKey),
    stranger: clientWith(identifiers.apiKey()),
    agentId,
    lastBody: () => body,
  });
  const passed: { step: string; milliseconds: number }[] = [];
  try {
    for (const [step, run] of Object.entries(steps)) {
      const milliseconds = await runStep(step, run);
      print([`${step}: ${milliseconds} ms`]);
      passed.push({ step, milliseconds });
    }
  } finally {
    await cleanUp();
    await apiKeys().revoke(key.id, clock.now().toISOString());
  }
  return {
    json: { base_url: baseUrl, workspace_id: workspaceId, steps: passed },
    lines: [`${baseUrl} passes all ${passed.length} steps`],
  };
}

async function runStep(name: string, run: () => Promise<Finding>): Promise<number> {
  const started = performance.now();
  const { problem, requestId } = await run().catch((error: unknown) => ({
    problem: describeServiceFailure(error),
    requestId: requestIdOf(error),
  }));
  const milliseconds = Math.round(performance.now() - started);
  if (!problem) return milliseconds;
  throw new Error(
    `Failed after ${milliseconds} ms: ${name}: ${problem} (${requestId === undefined ? 'no request id' : `request id ${requestId}`})`,
  );
}

function requestIdOf(error: unknown): string | undefined {
  if (error instanceof ApiError) return error.requestId;
  return error instanceof ReplyFailedError || error instanceof StreamInterruptedError
    ? error.reply.requestId
    : undefined;
}

/** All runs share a workspace: its deletion would take more than 20 minutes and read the whole table. */
async function openWorkspace(): Promise<{ workspaceId: string; agentId: string }> {
  const known = (await workspaces().list()).find(({ name }) => name === workspaceName);
  const settings = { whitelistEnabled: false, limits: 'default', openAiEnabled: false } as const;
  const { id: workspaceId } =
    known ?? (await createWorkspace(services(), { name: workspaceName, ...settings }));
  const agents = await agentStore().list(workspaceId);
  const published = agents.find(({ publishState }) => publishState === 'published');
  if (published !== undefined) return { workspaceId, agentId: published.id };
  const definition = agentDefinition.parse({ name: 'Smoke test', llm_model: 'demo' });
  const { id: agentId } = await createAgent(services(), { workspaceId, definition });
  await publishAgent(services(), agentId);
  return { workspaceId, agentId };
}
