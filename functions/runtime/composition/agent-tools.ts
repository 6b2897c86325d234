import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { type DeferredKind, kindOf, requestForm, type ToolKind } from '#agents/tools/agent-tool.ts';
import { callAgent } from '#agents/tools/call-agent.ts';
import { lookup } from '#agents/tools/chat-texts.ts';
import { fetchWebContent } from '#agents/tools/fetch-web-content.ts';
import { retrieveContextSource } from '#agents/tools/retrieve-context-source.ts';
import { searchWeb } from '#agents/tools/search-web.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import type { PassageRanking, Services } from '#domain/knowledge/knowledge.ts';
import type { ToolSecretStore } from '#domain/tools/tool-secret.ts';

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
