import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { cachedSecret } from '#adapters/secrets.ts';
import { bedrock } from '#agents/models/bedrock.ts';
import { demo } from '#agents/models/demo.ts';
import type { ModelServer } from '#agents/models/http/model-server.ts';
import type { ModelProvider } from '#agents/models/model-provider.ts';
import { openai } from '#agents/models/openai.ts';
import { type DeferredKind, kindOf, requestForm, type ToolKind } from '#agents/tools/agent-tool.ts';
import { callAgent } from '#agents/tools/call-agent.ts';
import { lookup } from '#agents/tools/chat-texts.ts';
import { fetchWebContent } from '#agents/tools/fetch-web-content.ts';
import { retrieveContextSource } from '#agents/tools/retrieve-context-source.ts';
import { searchWeb } from '#agents/tools/search-web.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import type { PassageRanking, Services } from '#domain/knowledge/knowledge.ts';
import { once } from '#domain/platform/services.ts';
import type { ToolSecretStore } from '#domain/tools/tool-secret.ts';
import { environment, lazily } from '#runtime/environment/environment.ts';
import { lambdaRegion } from '#runtime/environment/lambda-credentials.ts';
import { secretsClient } from '#runtime/environment/secrets-client.ts';
import { measurements } from '#runtime/observability/invocation.ts';

export const modelProviders = /* @__PURE__ */ lazily(
  (): Record<string, ModelProvider> => ({
    demo,
    bedrock: cachingModels(bedrock({ credentials: () => defaultProvider()(), region: lambdaRegion })),
    openai: at('openai', openai, () => ({
      url: environment('openAiBaseUrl'),
      secret: environment('openAiApiKeySecret'),
    })),
    ...atEndpoints('openai', openai),
  }),
);

const at = (
  name: string,
  provider: (server: ModelServer) => ModelProvider,
  endpoint: () => { url: string; secret: string },
): ModelProvider =>
  cachingModels(
    provider({
      baseUrl: () => endpoint().url,
      apiKey: cachedSecret(secretsClient, () => endpoint().secret),
      onSkipped: (model, kind, count) =>
        measurements.add('modelEventsSkipped', count, { model: `${name}:${model}`, kind }),
    }),
  );

const atEndpoints = (name: string, provider: (server: ModelServer) => ModelProvider) =>
  Object.fromEntries(
    Object.entries(environment('openAiEndpoints')).map(([endpointName, endpoint]) => [
      `${name}@${endpointName}`,
      at(`${name}@${endpointName}`, provider, () => endpoint),
    ]),
  );

/** Replies of a process that use the same model share the wait that its server asks for. */
const cachingModels = (provider: ModelProvider): ModelProvider => ({
  ...provider,
  model: once((name) => provider.model(name)),
});

type Lazy<Made> = { [Name in keyof Made]: () => Made[Name] };

const passageRanking: PassageRanking = {
  rank: async (...search) => (await import('./tool-adapters.ts')).ranking.rank(...search),
};

const kindsWithAddress = ['consultant_call_mcp_tool', 'consultant_call_http_api'] as const;

export const agentTools = (
  services: Lazy<
    Services<'agents' | 'attachments' | 'knowledge' | 'knowledgeBase' | 'webPages' | 'webSearch'> &
      Pick<ChatServices, 'messages'> & { toolSecrets: ToolSecretStore }
  >,
): readonly (ToolKind | DeferredKind)[] => [
  kindOf(callAgent(services.agents)),
  kindOf(requestForm),
  kindOf(fetchWebContent(services.webPages)),
  kindOf(searchWeb(services.webSearch)),
  kindOf(retrieveContextSource(services)),
  kindOf(
    lookup(async (use) => (await import('./tool-adapters.ts')).textsOfChat(services)(use), passageRanking),
  ),
  ...kindsWithAddress.map((type) => ({
    type,
    load: async () => (await import('./remote-tools.ts')).remoteKinds(services.toolSecrets)[type],
  })),
  {
    type: 'consultant_call_function',
    load: async () => (await import('./function-tools.ts')).functionTools(defaultProvider()),
  },
];
