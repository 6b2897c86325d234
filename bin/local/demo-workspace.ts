import { agentDefinition } from '#contract/agent.ts';
import { createAgent, publishAgent } from '#domain/agents/agents.ts';
import { hashApiKey, isUsable } from '#domain/workspaces/api-key.ts';
import { createApiKey } from '#domain/workspaces/api-keys.ts';
import { createWorkspace } from '#domain/workspaces/workspaces.ts';
import { agentStore, apiKeys, chats, clock, newChats } from '#runtime/composition/services.ts';
import { operatorServices } from '../operator-services.ts';
import type { Connection } from './connection.ts';

type Demo = Pick<Connection, 'api_key' | 'workspace_id' | 'agent_id' | 'chat_id'>;

export async function createDemoWorkspace(): Promise<Demo> {
  const services = operatorServices();
  const workspace = await createWorkspace(services, {
    name: 'Demo',
    whitelistEnabled: false,
    limits: 'none',
    openAiEnabled: true,
  });
  const [{ apiKey }, agent] = await Promise.all([
    createApiKey(services, { workspaceId: workspace.id, name: 'demo', expiresAt: null }),
    createAgent(services, {
      workspaceId: workspace.id,
      definition: agentDefinition.parse({
        name: 'Demo agent',
        description: 'Answers without a network, to try the service.',
        system_prompt: 'You are a friendly assistant.',
        suggested_questions: ['What can you do?'],
      }),
    }),
  ]);
  await publishAgent(services, agent.id);
  const chat = await newChats().create({
    workspaceId: workspace.id,
    agentId: agent.id,
    name: 'Demo chat',
    externalUserId: null,
  });
  return { api_key: apiKey, workspace_id: workspace.id, agent_id: agent.id, chat_id: chat.id };
}

export async function demoExists(demo: Demo): Promise<boolean> {
  const [key, agent, chat] = await Promise.all([
    apiKeys().byHash(hashApiKey(demo.api_key)),
    agentStore().published(demo.workspace_id, demo.agent_id),
    chats().get(demo.workspace_id, demo.chat_id),
  ]);
  return key !== undefined && isUsable(key, clock.now()) && agent !== undefined && chat !== undefined;
}
