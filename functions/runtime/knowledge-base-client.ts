import type { BedrockAgentRuntimeClient } from '@aws-sdk/client-bedrock-agent-runtime';

let client: Promise<BedrockAgentRuntimeClient> | undefined;

/** Imported when it is first asked for, since few replies ask it. */
export function makeKnowledgeBaseClient(): Promise<BedrockAgentRuntimeClient> {
  client ??= make();
  return client;
}

async function make(): Promise<BedrockAgentRuntimeClient> {
  const [{ BedrockAgentRuntimeClient: Client }, { NodeHttpHandler }] = await Promise.all([
    import('@aws-sdk/client-bedrock-agent-runtime'),
    import('@smithy/node-http-handler'),
  ]);
  return new Client({
    // Its own speaks HTTP/2, for operations that stream both ways. A search takes up to some seconds.
    requestHandler: new NodeHttpHandler({
      connectionTimeout: 1000,
      requestTimeout: 20_000,
      throwOnRequestTimeout: true,
    }),
  });
}
