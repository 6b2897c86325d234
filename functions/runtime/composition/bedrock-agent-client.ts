import {
  BedrockAgentRuntimeClient,
  RetrieveCommand,
  type RetrieveCommandInput,
  type RetrieveCommandOutput,
} from '@aws-sdk/client-bedrock-agent-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { clientTimeouts } from '#runtime/environment/environment.ts';

const client = new BedrockAgentRuntimeClient({
  // The client's default handler uses HTTP/2, which only bidirectional streams need. A search may take several seconds.
  requestHandler: new NodeHttpHandler({ ...clientTimeouts, requestTimeout: 20_000 }),
});

export const retrieve = (input: RetrieveCommandInput, signal: AbortSignal): Promise<RetrieveCommandOutput> =>
  client.send(new RetrieveCommand(input), { abortSignal: signal });
