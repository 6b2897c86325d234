import { agentDefinition } from '#contract/agent.ts';
import { createAgent } from '#domain/create-agent.ts';
import { createApiKey } from '#domain/create-api-key.ts';
import { createWorkspace } from '#domain/create-workspace.ts';
import { publishAgent } from '#domain/publish-agent.ts';
import { identifiers } from '#runtime/identifiers.ts';
import { agents, apiKeys, clock, workspaces } from '#runtime/services.ts';
import type { Connection } from './connection.ts';

type Demo = Pick<Connection, 'api_key' | 'workspace_id' | 'agent_id' | 'chat_id'>;

/** A workspace without rate limits that holds a key, a published agent and a chat with it. */
export async function createDemoWorkspace(baseUrl: string): Promise<Demo> {
  const services = { agents: agents(), apiKeys: apiKeys(), clock, identifiers, workspaces: workspaces() };
  const workspace = await createWorkspace(services)({
    name: 'Demo',
    whitelistEnabled: false,
    limits: 'none',
  });
  const [{ apiKey }, agent] = await Promise.all([
    createApiKey(services)({ workspaceId: workspace.id, name: 'demo', expiresAt: null }),
    createAgent(services)({
      workspaceId: workspace.id,
      definition: agentDefinition.parse({
        name: 'Demo agent',
        description: 'Answers without a network, to try the service.',
        system_prompt: 'You are a friendly assistant.',
        suggested_questions: ['What can you do?'],
      }),
    }),
  ]);
  await publishAgent(services)(agent.id);
  return {
    api_key: apiKey,
    workspace_id: workspace.id,
    agent_id: agent.id,
    chat_id: await createChat(baseUrl, apiKey, agent.id),
  };
}

async function createChat(baseUrl: string, apiKey: string, agentId: string): Promise<number> {
  const response = await fetch(`${baseUrl}/chats`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'Demo chat', agent_id: agentId }),
  });
  const { data, message } = (await response.json()) as {
    data: { id: number } | null;
    message: string | null;
  };
  if (data === null)
    throw new Error(`The service answered ${response.status} to its first request: ${message}`);
  return data.id;
}

/** Whether an earlier run's demo workspace is still there, asked as a client would. */
export async function answers(baseUrl: string, demo: Demo): Promise<boolean> {
  const response = await fetch(`${baseUrl}/chats?limit=1`, { headers: { 'x-api-key': demo.api_key } });
  return response.status === 200;
}
