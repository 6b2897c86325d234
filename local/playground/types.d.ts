/** What the page reads of the service's responses; docs/openapi.json has all fields. */
export interface Agent {
  id: string;
  name: string;
  description: string;
  llm_model: string;
  suggested_questions: string[];
  unified_tools: { type: string }[];
}

/** The content of agent.json. */
export interface AgentDefinition {
  name: string;
  description: string;
  agent_type: string;
  system_prompt: string;
  llm_model: string;
  unified_tools: { type: string }[];
  suggested_questions: string[];
  use_search: boolean;
  meta: Record<string, unknown>;
}

export interface AgentSummary {
  id: string;
  name: string;
  publish_state: string;
  version_number: number | null;
  llm_model: string;
}

/** An agent as operators see it. */
export interface EditedAgent extends AgentSummary {
  definition: AgentDefinition;
  /** The newest first. */
  versions: {
    number: number;
    published_at: string;
    copy_of: number | null;
    published: boolean;
    definition: AgentDefinition;
  }[];
}

export interface AgentTest {
  reply: Pick<Message, 'content' | 'meta'>;
  provider: string | null;
  milliseconds: number;
}

export interface Chat {
  id: number;
  name: string;
  meta: { conversation_agent_id: string; batch_id?: string };
  external_user_id: string | null;
  created_at: string;
  updated_at: string;
}

export interface TokenUsage {
  total_prompt_tokens: number;
  total_completion_tokens: number;
  total_tokens: number;
  total_calls: number;
}

export interface Step {
  id: string;
  type: string;
  content: string;
  args: Record<string, unknown>;
  result: { success: boolean; data: unknown } | null;
}

/** The `args` of a step of the type `consultant_request_form`. */
export interface Form {
  title: string;
  description?: string;
  fields: FormField[];
}

export interface FormField {
  name: string;
  label: string;
  type: 'text' | 'textarea' | 'number' | 'date' | 'email' | 'boolean' | 'select' | 'multiselect';
  required?: boolean;
  options?: string[];
}

export interface UploadedFile {
  uuid: string;
  original_name: string;
  content_type: string;
  size: number;
  file_url: string;
}

export interface Message {
  id: number;
  role: 'user' | 'assistant';
  group_id: string;
  content: string;
  meta: {
    reasoning_steps?: Step[];
    token_usage?: TokenUsage;
    error?: { code: number; message: string };
    incomplete?: string;
  };
  attached_files: UploadedFile[];
  feedback_counts: Record<string, number>;
}

export type StreamEvent = { response_id: string; sequence_number: number } & (
  | { type: 'response.created'; message_id: number; model: string }
  | { type: 'response.chat.title.updated'; name: string }
  | { type: 'response.reasoning_step.start'; step: Omit<Step, 'result'> }
  | { type: 'response.reasoning_step.end'; step: Pick<Step, 'id' | 'result'> }
  | { type: 'response.output_text.delta'; delta: string }
  | {
      type: 'response.output_text.completed';
      message_id: number;
      final_text: string;
      usage: TokenUsage;
      incomplete?: string;
    }
  | { type: 'response.error'; message: string; code: number }
);

export interface Batch {
  id: string;
  status: 'in_progress' | 'completed' | 'failed' | 'cancelling' | 'cancelled';
  agent_id: string;
  total_requests: number;
  completed_requests: number;
  failed_requests: number;
  created_at: string;
  completed_at: string | null;
}

export interface BatchRequest {
  custom_id: string;
  message: string;
}

export interface BatchResult {
  custom_id: string;
  status: 'pending' | 'processing' | 'success' | 'failed';
  response_content: string | null;
  response_usage: { total_tokens: number } | null;
  error_code: number | null;
  error_message: string | null;
  history_id: number | null;
  message_id: number | null;
}

export interface Pagination {
  limit: number;
  offset: number;
  total_records: number;
  total_pages: number;
  current_page: number;
}

export interface Envelope<Data> {
  data: Data;
  message: string | null;
  error_code: number;
  pagination: Pagination;
}

export interface RequestOptions {
  query?: Record<string, string | number | undefined>;
  body?: Record<string, unknown>;
  file?: File;
  signal?: AbortSignal | undefined;
  idempotencyKey?: string | undefined;
}

/** A request that the page has sent, for the list of requests. */
export interface SentRequest {
  method: string;
  path: string;
  body?: string;
  file?: File;
  status: number | undefined;
  milliseconds: number | undefined;
  requestId: string | undefined;
}

/** The parts of an OpenAPI 3.1 document that the reference shows. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

interface Content {
  content?: Record<string, { schema?: Schema }>;
  description?: string;
}

export interface Operation {
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: { in: string; name: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: Content;
  responses?: Record<string, Content>;
}

export interface OpenApi {
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}
