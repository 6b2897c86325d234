import {
  BedrockAgentRuntimeClient,
  RetrieveCommand,
  type RetrieveCommandInput,
  type RetrieveCommandOutput,
} from '@aws-sdk/client-bedrock-agent-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { clientTimeouts } from '#runtime/environment/client-timeouts.ts';

const client = new BedrockAgentRuntimeClient({
  // Its own handler speaks HTTP/2, for operations that stream both ways. A search takes up to some seconds.
  requestHandler: new NodeHttpHandler({ ...clientTimeouts, requestTimeout: 20_000 }),
});

/** Asks a knowledge base. */
export const retrieve = (input: RetrieveCommandInput, signal: AbortSignal): Promise<RetrieveCommandOutput> =>
  client.send(new RetrieveCommand(input), { abortSignal: signal });
