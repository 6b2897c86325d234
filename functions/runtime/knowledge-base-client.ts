import type { BedrockAgentRuntimeClient } from '@aws-sdk/client-bedrock-agent-runtime';

let client: Promise<BedrockAgentRuntimeClient> | undefined;

/** Imported when it is first asked for, since few replies ask it. A search takes up to some seconds. */
export function makeKnowledgeBaseClient(): Promise<BedrockAgentRuntimeClient> {
  client ??= import('@aws-sdk/client-bedrock-agent-runtime').then(
    (sdk) =>
      new sdk.BedrockAgentRuntimeClient({
        requestHandler: { connectionTimeout: 1000, requestTimeout: 20_000, throwOnRequestTimeout: true },
      }),
  );
  return client;
}
