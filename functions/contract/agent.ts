import * as z from 'zod';
import { messageText, optionalText, reasoningEffort, resourceId, text, timestamp, uuid } from './fields.ts';
import { limits } from './limits.ts';
import type { MessageResource } from './message.ts';

/** Specification, section 6.1. */
const ownToolTypes = [
  'consultant_search_web',
  'consultant_fetch_web_content',
  'consultant_retrieve_context_source',
  'consultant_call_agent',
  'consultant_request_form',
  'consultant_lookup',
] as const;

/** Additions to the specification. */
export const remoteToolTypes = [
  'consultant_call_mcp_tool',
  'consultant_call_http_api',
  'consultant_call_function',
] as const;

/** No tool has the last type yet. */
export const reasoningStepTypes = [...ownToolTypes, ...remoteToolTypes, 'consultant_call_client'] as const;

export const unifiedTool = z
  .object({
    type: text(64),
    name: text(128).optional(),
    description: optionalText(4096).optional(),
    config: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'UnifiedTool' });

/**
 * Of an entry whose type is not in the specification, clients see only the type, and the names and descriptions of its
 * tools.
 */
export function publicTool(entry: z.output<typeof unifiedTool>): z.output<typeof unifiedTool> {
  if (ownToolTypes.some((type) => type === entry.type)) return entry;
  return { type: entry.type, config: publicConfig.parse(entry.config) };
}

const publicConfig = z
  .object({ tools: z.array(z.object({ name: z.string(), description: z.string().optional() })) })
  .catch({ tools: [] });

export const llmModel = text(256).regex(/^[a-z][a-z0-9-]*(@[a-z][a-zA-Z0-9]*)?(:.+)?$/, {
  error: 'must be PROVIDER, PROVIDER:MODEL or openai@NAME:MODEL, such as openai:gpt-5-mini',
});

const serviceTier = z.enum(['flex', 'priority']);

/** Other keys have no effect: they belong to the operator. */
const agentMeta = z.looseObject({
  temperature: z.number().min(0).max(2).optional(),
  /** Default: 8,192. */
  max_output_tokens: z.int().min(1).max(1_000_000).optional(),
  /** Calls of the model for one reply of this agent, without retries and repairs. Default: 8. */
  max_steps: z.int().min(1).max(50).optional(),
  /** Default: 60,000. */
  max_history_characters: z.int().min(0).max(10_000_000).optional(),
  reasoning_effort: reasoningEffort.optional(),
  /** In batches, `batch_service_tier` takes precedence. */
  service_tier: serviceTier.optional(),
  batch_service_tier: serviceTier.optional(),
  fallback_models: z.array(llmModel).max(3).optional(),
  /** Whether the model accepts images. Default: what the service knows of the model. */
  vision: z.boolean().optional(),
  /** Whether `<think>…</think>` or `<thinking>…</thinking>` at the start of the model's text is reasoning. */
  reasoning_tags: z.boolean().optional(),
});

/** The content of agent.json. */
export const agentDefinition = z.object({
  name: text(256),
  description: optionalText(4096).default(''),
  agent_type: text(64).default('consultant'),
  system_prompt: optionalText(limits.systemPromptCharacters).default(''),
  llm_model: llmModel.default('demo'),
  unified_tools: z.array(unifiedTool).max(32).default([]),
  suggested_questions: z.array(text(1024)).max(32).default([]),
  use_search: z.boolean().default(false),
  output_schema: z.record(z.string(), z.unknown()).optional(),
  meta: agentMeta.default({}),
});

export type AgentDefinition = z.infer<typeof agentDefinition>;

/** Specification, section 2.3, with additions. */
export const agent = z
  .object({
    id: uuid,
    name: z.string(),
    description: z.string(),
    workspace_id: z.string(),
    publish_state: z.string(),
    agent_type: z.string(),
    system_prompt: z.string(),
    unified_tools: z.array(unifiedTool),
    suggested_questions: z.array(z.string()),
    use_search: z.boolean(),
    output_schema: z.record(z.string(), z.unknown()).optional(),
    meta: z.record(z.string(), z.unknown()),
    llm_model: z.string(),
    version_number: resourceId.nullable(),
    published_version_id: uuid.nullable(),
    published_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Agent' });

export type AgentResource = z.infer<typeof agent>;

export const agentTestRequest = z.object({
  agent_id: uuid,
  message: messageText,
  version: z.enum(['draft', 'published']).default('draft'),
});

export type AgentTestRequest = z.output<typeof agentTestRequest>;

export interface AgentTest {
  agent_id: string;
  /** Null for the draft. */
  version: number | null;
  model: string;
  reply: Pick<MessageResource, 'content' | 'meta'>;
  /** The model's error that ended the reply, in the service's words; else null, also if the reply took too long. */
  provider: string | null;
  milliseconds: number;
}
