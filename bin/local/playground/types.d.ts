import type {
  Agent,
  BatchRequestItem,
  Message,
  Pagination,
  ReasoningStep,
} from '../../../lib/client/schema.ts';

export type {
  Agent,
  Batch,
  BatchResult,
  Chat,
  Message,
  Pagination,
  StreamEvent,
  TokenUsage,
  UploadedFile,
} from '../../../lib/client/schema.ts';

export type Step = Pick<ReasoningStep, 'id' | 'type' | 'content' | 'args' | 'result'>;

export type BatchRequest = Pick<BatchRequestItem, 'custom_id' | 'message'>;

export type AgentDefinition = Omit<
  Agent,
  'id' | 'workspace_id' | 'publish_state' | `${string}_at` | 'version_number' | 'published_version_id'
>;

export type AgentSummary = Pick<Agent, 'id' | 'name' | 'publish_state' | 'version_number' | 'llm_model'>;

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

/** The `args` of a step of the type `consultant_request_form`, if the model's arguments fit: see `isForm`. */
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

export interface SentRequest {
  method: string;
  path: string;
  body?: string;
  file?: File;
  status?: number;
  milliseconds?: number;
  requestId?: string | undefined;
}

// Parts of an OpenAPI 3.1 document, for the reference.

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
}

interface Content {
  content?: Record<string, { schema?: Schema }>;
  description?: string;
}

export interface Operation {
  summary?: string;
  description?: string;
  parameters?: { in: string; name: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: Content;
  responses?: Record<string, Content>;
}

export interface OpenApi {
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}
