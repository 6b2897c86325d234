import type { AgentTool } from '#agents/tools/agent-tool.ts';
import { callAgent } from '#agents/tools/call-agent.ts';
import { requestForm } from '#agents/tools/request-form.ts';
import type { Services } from '#domain/services.ts';

/** Made when a tool is first used: most replies use none. */
type Lazy<Name extends keyof Services> = { [Key in Name]: () => Services[Key] };

/** What agents can use while they answer: one line each. */
export const agentTools = (services: Lazy<'agents'>): readonly AgentTool[] => [
  callAgent(services.agents),
  requestForm,
];
