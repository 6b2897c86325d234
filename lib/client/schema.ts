// Made from docs/openapi.json by npm run client:types.

/**
 * An event of a streamed reply. `type` says which. New types may be added.
 */
export type StreamEvent =
  | ResponseCreatedEvent
  | ResponseChatTitleUpdatedEvent
  | ResponseReasoningStepStartEvent
  | ResponseReasoningStepEndEvent
  | ResponseOutputTextDeltaEvent
  | ResponseOutputTextCompletedEvent
  | ResponseErrorEvent;

/**
 * A new chat.
 */
export interface CreateChatRequest {
  /**
   * The name of the chat. A generated title may replace it after the first message.
   */
  name: string;
  /**
   * The id of the agent that replies in the chat. It cannot be changed.
   */
  agent_id: string;
  /**
   * The client's identifier of the user. Required if the workspace is in whitelist mode.
   */
  external_user_id?: string | null;
  /**
   * An addition: up to 16 pairs of texts, which are returned with the resource. A key has 1 to 64 characters, and all pairs have at most 500 bytes as JSON (UTF-8).
   */
  metadata?: {
    [k: string]: string;
  } | null;
}
/**
 * A new name for a chat, changes of its metadata, or both.
 */
export interface RenameChatRequest {
  /**
   * The name of the chat.
   */
  name?: string | null;
  /**
   * The user of the chat. Required if the chat has one.
   */
  external_user_id?: string | null;
  /**
   * An addition: pairs that are set, or with null removed; other pairs stay. The bounds of `metadata` are those of all pairs after the change: 16 pairs, 500 bytes.
   */
  metadata?: {
    [k: string]: string | null;
  } | null;
}
/**
 * A message to the agent of a chat.
 */
export interface SendMessageRequest {
  /**
   * The text of the user's message, at most 262,144 bytes of UTF-8. Blanks alone are a message too.
   */
  message: string;
  /**
   * true: the response is a stream of events (`text/event-stream`), as the reply is generated. false: the response is one JSON object (`application/json`) with the whole reply. Clients that read JSON alone must send false, because the default is true.
   */
  stream?: boolean | null;
  /**
   * An addition: the stream can be resumed with `GET /chats/{chat_id}/stream`.
   */
  resumable?: boolean | null;
  /**
   * The id of the agent that the chat was created with.
   */
  agent_id: string;
  /**
   * `uuid` of each uploaded file to attach. At most 10 files.
   *
   * @maxItems 50
   */
  attached_file_uuids?: string[] | null;
  /**
   * The client's identifier of the user. Required if the workspace is in whitelist mode.
   */
  external_user_id?: string | null;
  /**
   * An addition: the form of the reply. A reply that is not in the form is an error, and no client gets its text.
   */
  response_format?: ResponseFormat | null;
}
/**
 * The form of replies, as in the API of OpenAI.
 */
export interface ResponseFormat {
  /**
   * `text`: any text. `json_object`: a JSON object. `json_schema`: JSON that fits the schema.
   */
  type: 'text' | 'json_object' | 'json_schema';
  /**
   * Required for the type `json_schema`.
   */
  json_schema?: JsonSchemaFormat | null;
}
/**
 * A JSON Schema with a name.
 */
export interface JsonSchemaFormat {
  /**
   * A name of the form, for the model.
   */
  name: string;
  /**
   * What the form is for, for the model.
   */
  description?: string | null;
  /**
   * The JSON Schema, at most 16 KiB. `pattern` and `format` are passed to the model and not checked. Keywords that cannot be checked are rejected, such as `if`.
   */
  schema: {
    [k: string]: unknown;
  };
  /**
   * Without effect: the reply is always checked.
   */
  strict?: boolean | null;
}
/**
 * Which reply to stop.
 */
export interface StopReplyRequest {
  /**
   * The user of the chat. Required if the chat has one.
   */
  external_user_id?: string | null;
  /**
   * The `response_id` of the reply to stop. If another reply is in progress, the request is rejected.
   */
  response_id?: string | null;
}
/**
 * Feedback on a reply.
 */
export interface RecordFeedbackRequest {
  /**
   * The client's identifier of the user who gives the feedback.
   */
  external_user_id: string;
  /**
   * `sys_helpful`: the reply was helpful. `sys_improve`: the reply should be better.
   */
  type: 'sys_helpful' | 'sys_improve';
  /**
   * What should be better; only with `sys_improve`.
   */
  content?: string | null;
}
/**
 * A new batch.
 */
export interface CreateBatchRequest {
  /**
   * The id of a published agent of the workspace. It replies to each request that names no other agent.
   */
  agent_id: string;
  /**
   * The requests, each with its own `custom_id`.
   *
   * @minItems 1
   * @maxItems 1000
   */
  requests: BatchRequestItem[];
  /**
   * The server to call when the batch ends.
   */
  webhook?: WebhookConfiguration | null;
  /**
   * An addition: up to 16 pairs of texts, which are returned with the resource. A key has 1 to 64 characters, and all pairs have at most 500 bytes as JSON (UTF-8).
   */
  metadata?: {
    [k: string]: string;
  } | null;
  /**
   * An addition: the form of the reply. A reply that is not in the form is an error, and no client gets its text.
   */
  response_format?: ResponseFormat | null;
}
/**
 * One message of a batch.
 */
export interface BatchRequestItem {
  /**
   * The client's key of the request, unique within the batch. The result has the same key.
   */
  custom_id: string;
  /**
   * The text of the user's message, at most 262,144 bytes of UTF-8. Blanks alone are a message too.
   */
  message: string;
  /**
   * The id of a published agent of the workspace. It replaces the agent of the batch for this request.
   */
  agent_id?: string | null;
  /**
   * The client's identifier of the user. Required if the workspace is in whitelist mode.
   */
  external_user_id?: string | null;
  /**
   * The name of the chat that is created for the request.
   */
  name?: string | null;
  /**
   * `uuid` of each uploaded file to attach. At most 10 files.
   *
   * @maxItems 50
   */
  attached_file_uuids?: string[] | null;
  /**
   * The id of a chat to continue. Without it, a chat is created for the request.
   */
  history_id?: number | null;
}
/**
 * The server to call when a batch ends.
 */
export interface WebhookConfiguration {
  /**
   * An HTTPS URL without user name and password, blanks and backslashes. Its address must be public.
   */
  url: string;
  /**
   * The events to send. An empty array selects no event. A repeated event is sent once.
   *
   * @maxItems 100
   */
  events?: ('completed' | 'failed' | 'cancelled')[] | null;
  /**
   * The secret that signs each call. Without it, calls are not signed.
   */
  secret?: string | null;
}
/**
 * The body of a webhook call.
 */
export interface BatchEndedEvent {
  /**
   * `batch.completed`: every request has ended. `batch.failed`: the batch could not continue. `batch.cancelled`: the batch was cancelled.
   */
  event: 'batch.completed' | 'batch.failed' | 'batch.cancelled';
  /**
   * When the batch ended: ISO 8601, UTC, milliseconds.
   */
  timestamp: string;
  data: BatchEndedEventData;
}
/**
 * The batch that has ended.
 */
export interface BatchEndedEventData {
  /**
   * The id of the batch.
   */
  id: string;
  /**
   * The final status of the batch.
   */
  status: 'in_progress' | 'completed' | 'failed' | 'cancelling' | 'cancelled';
  /**
   * How many requests were submitted.
   */
  total_requests: number;
  /**
   * How many requests have succeeded.
   */
  completed_requests: number;
  /**
   * How many requests have failed.
   */
  failed_requests: number;
  /**
   * The pairs of its client; `{}` without any. An addition.
   */
  metadata: {
    [k: string]: string;
  };
}
/**
 * An agent of the workspace.
 */
export interface Agent {
  /**
   * The id of the agent.
   */
  id: string;
  /**
   * The name of the agent.
   */
  name: string;
  /**
   * What the agent is for.
   */
  description: string;
  /**
   * The id of the workspace that the agent belongs to.
   */
  workspace_id: string;
  /**
   * `draft`, `published` or `unpublished`. New values may be added.
   */
  publish_state: string;
  /**
   * `consultant` by default. New values may be added.
   */
  agent_type: string;
  /**
   * The instructions of the agent.
   */
  system_prompt: string;
  /**
   * What the agent can use while it replies.
   */
  unified_tools: UnifiedTool[];
  /**
   * Questions that a client may propose to its users.
   */
  suggested_questions: string[];
  /**
   * Whether the agent may search the web.
   */
  use_search: boolean;
  /**
   * An addition: the JSON Schema that every reply fits.
   */
  output_schema?: {
    [k: string]: unknown;
  };
  /**
   * How the agent uses its model, and any values of its operator.
   */
  meta: {
    [k: string]: unknown;
  };
  /**
   * The model of the agent: a provider, or a provider and a model.
   */
  llm_model: string;
  /**
   * The number of the published version, null if the agent was never published.
   */
  version_number: number | null;
  /**
   * The id of the published version, null if no version is published.
   */
  published_version_id: string | null;
  /**
   * When the version was published: ISO 8601, UTC. null if no version is published.
   */
  published_at: string | null;
  /**
   * When it was created: ISO 8601, UTC, milliseconds.
   */
  created_at: string;
  /**
   * When it was last changed: ISO 8601, UTC, milliseconds.
   */
  updated_at: string;
}
/**
 * A tool of an agent.
 */
export interface UnifiedTool {
  /**
   * The reasoning step type, one of `consultant_search_web`, `consultant_fetch_web_content`, `consultant_retrieve_context_source`, `consultant_call_agent`, `consultant_request_form`, `consultant_lookup`, `consultant_call_mcp_tool`, `consultant_call_http_api`, `consultant_call_function`, `consultant_call_client`. New types may be added.
   */
  type: string;
  /**
   * The name by which the model knows the tool. The default is the type.
   */
  name?: string;
  /**
   * What the tool is for, as the model reads it.
   */
  description?: string;
  /**
   * Settings of the tool. They depend on the type.
   */
  config?: {
    [k: string]: unknown;
  };
}
/**
 * A chat of a user with one agent.
 */
export interface Chat {
  /**
   * The id of the chat.
   */
  id: number;
  /**
   * The name of the chat.
   */
  name: string;
  meta: ChatMeta;
  /**
   * The client's identifier of the user, null if the chat was created without one.
   */
  external_user_id: string | null;
  /**
   * The pairs of its client; `{}` without any. An addition.
   */
  metadata: {
    [k: string]: string;
  };
  /**
   * When it was created: ISO 8601, UTC, milliseconds.
   */
  created_at: string;
  /**
   * When it was last changed: ISO 8601, UTC, milliseconds.
   */
  updated_at: string;
}
/**
 * What the chat is bound to.
 */
export interface ChatMeta {
  /**
   * The client's identifier of the user, null if the chat was created without one.
   */
  external_user_id: string | null;
  /**
   * The id of the agent that the chat is bound to.
   */
  conversation_agent_id: string;
  /**
   * The batch whose request has created the chat. An addition.
   */
  batch_id?: string;
}
/**
 * Where the page is in the list.
 */
export interface Pagination {
  /**
   * The page size used.
   */
  limit: number;
  /**
   * How many elements were skipped.
   */
  offset: number;
  /**
   * How many elements the list has.
   */
  total_records: number;
  /**
   * How many pages of this size the list has.
   */
  total_pages: number;
  /**
   * The number of the page, counted from 1.
   */
  current_page: number;
  /**
   * The URL of the next page, null if there is none.
   */
  next_page: string | null;
  /**
   * The URL of the previous page, null on the first page.
   */
  prev_page: string | null;
}
/**
 * A chat that was deleted.
 */
export interface DeletedChat {
  /**
   * The id of the chat. It is never used again.
   */
  id: number;
  /**
   * true: the chat is gone.
   */
  deleted: boolean;
}
/**
 * A user whose erasure has started.
 */
export interface ErasedUser {
  /**
   * The client's identifier of the user.
   */
  external_user_id: string;
  /**
   * `erasing`: the erasure has started. It ends within half an hour. New values may be added.
   */
  status: string;
}
/**
 * A message of a chat: of its user, or a reply of its agent.
 */
export interface Message {
  /**
   * The id of the message. It is above 2^31 in most chats: read it as a 64-bit integer.
   */
  id: number;
  /**
   * `user` or `assistant`.
   */
  role: 'user' | 'assistant';
  /**
   * The same of a user message and the reply to it.
   */
  group_id: string;
  /**
   * The text of the message.
   */
  content: string;
  meta: MessageMeta;
  /**
   * The files that are attached to the message.
   */
  attached_files: UploadedFile[];
  /**
   * How many users have given each type of feedback; empty without feedback.
   */
  feedback_counts: {
    [k: string]: number;
  };
  /**
   * When the message was stored.
   */
  created_at: string;
}
/**
 * Empty of a user message. A reply has its steps and usage, and `error` or `incomplete` if it was cut short.
 */
export interface MessageMeta {
  /**
   * The reasoning steps of the reply, in the order of their start.
   */
  reasoning_steps?: ReasoningStep[];
  token_usage?: TokenUsage;
  error?: ReplyError;
  /**
   * Why the reply was cut short without an error: `max_output_tokens` if it reached the token limit of its agent or the maximum length of a reply, `stopped` if a client has stopped it. New values may be added.
   */
  incomplete?: string;
}
/**
 * A step that the agent took before it replied, such as a search.
 */
export interface ReasoningStep {
  /**
   * The id of the step.
   */
  id: string;
  /**
   * The kind of the step, one of `consultant_search_web`, `consultant_fetch_web_content`, `consultant_retrieve_context_source`, `consultant_call_agent`, `consultant_request_form`, `consultant_lookup`, `consultant_call_mcp_tool`, `consultant_call_http_api`, `consultant_call_function`, `consultant_call_client`. New types may be added.
   */
  type: string;
  /**
   * What the step does, as a text for people.
   */
  content: string;
  /**
   * What the model has passed to the tool.
   */
  args: {
    [k: string]: unknown;
  };
  /**
   * What the step has found, null if it did not end.
   */
  result: ReasoningStepResult | null;
  /**
   * When the step started: ISO 8601, UTC, milliseconds.
   */
  started_at: string;
  /**
   * When the step ended: ISO 8601, UTC, milliseconds. null if it did not end.
   */
  ended_at: string | null;
  token_usage: TokenUsage;
}
/**
 * The result of a reasoning step.
 */
export interface ReasoningStepResult {
  /**
   * Whether the step succeeded.
   */
  success: boolean;
  /**
   * What the step has found, of any JSON type. After a failure, the reason.
   */
  data: {
    [k: string]: unknown;
  };
}
/**
 * The tokens of all model calls of a reply or of a reasoning step.
 */
export interface TokenUsage {
  /**
   * Tokens of prompts.
   */
  total_prompt_tokens: number;
  /**
   * Tokens that models have generated.
   */
  total_completion_tokens: number;
  /**
   * Tokens of prompts and generated tokens together.
   */
  total_tokens: number;
  /**
   * How many times models were called.
   */
  total_calls: number;
  /**
   * The part of the prompts that the provider has read from its cache.
   */
  cached_prompt_tokens: number;
}
/**
 * Why the reply failed. The event response.error has the same values.
 */
export interface ReplyError {
  /**
   * Service error code, not an HTTP status. 10005 SYS_SERVER_ERROR: the reply failed. 10006 SYS_BAD_REQUEST: the request cannot be processed.
   */
  code: number;
  /**
   * The reason, for people.
   */
  message: string;
}
/**
 * A file that was uploaded.
 */
export interface UploadedFile {
  /**
   * The id of the file, for `attached_file_uuids`.
   */
  uuid: string;
  /**
   * The name of the file.
   */
  original_name: string;
  /**
   * The MIME type of the file.
   */
  content_type: string;
  /**
   * The size of the file in bytes.
   */
  size: number;
  /**
   * A URL that downloads the file, for at most 15 minutes. Each read of a history has a new one.
   */
  file_url: string;
  /**
   * `persistent` or `ephemeral`.
   */
  scope: 'persistent' | 'ephemeral';
}
/**
 * The first event: the message is stored and the reply starts. The model may still be unreachable.
 */
export interface ResponseCreatedEvent {
  /**
   * The type of the event.
   */
  type: 'response.created';
  /**
   * The id of the reply. All events of a reply have the same.
   */
  response_id: string;
  /**
   * The id of the chat.
   */
  chat_id: number;
  /**
   * Counts the events of the stream from 0.
   */
  sequence_number: number;
  /**
   * Id of the reply in the history, needed for feedback on it.
   */
  message_id: number;
  /**
   * The id of the agent that replies.
   */
  agent_id: string;
  /**
   * The name of the model.
   */
  model: string;
}
/**
 * The chat has a generated title, typically after its first message. It may come at any time until `[DONE]`, also after `response.output_text.completed`.
 */
export interface ResponseChatTitleUpdatedEvent {
  /**
   * The type of the event.
   */
  type: 'response.chat.title.updated';
  /**
   * The id of the reply. All events of a reply have the same.
   */
  response_id: string;
  /**
   * The id of the chat.
   */
  chat_id: number;
  /**
   * Counts the events of the stream from 0.
   */
  sequence_number: number;
  /**
   * The new name of the chat.
   */
  name: string;
}
/**
 * A reasoning step has started.
 */
export interface ResponseReasoningStepStartEvent {
  /**
   * The type of the event.
   */
  type: 'response.reasoning_step.start';
  /**
   * The id of the reply. All events of a reply have the same.
   */
  response_id: string;
  /**
   * The id of the chat.
   */
  chat_id: number;
  /**
   * Counts the events of the stream from 0.
   */
  sequence_number: number;
  step: StartedReasoningStep;
}
/**
 * A reasoning step that has started.
 */
export interface StartedReasoningStep {
  /**
   * The id of the step, the same in its start and its end.
   */
  id: string;
  /**
   * What the step does, as a text for people.
   */
  content: string;
  /**
   * The kind of the step, one of `consultant_search_web`, `consultant_fetch_web_content`, `consultant_retrieve_context_source`, `consultant_call_agent`, `consultant_request_form`, `consultant_lookup`, `consultant_call_mcp_tool`, `consultant_call_http_api`, `consultant_call_function`, `consultant_call_client`. New types may be added.
   */
  type: string;
  /**
   * What the model has passed to the tool.
   */
  args: {
    [k: string]: unknown;
  };
  /**
   * When the step started: ISO 8601, UTC, milliseconds.
   */
  timestamp: string;
}
/**
 * A reasoning step has ended.
 */
export interface ResponseReasoningStepEndEvent {
  /**
   * The type of the event.
   */
  type: 'response.reasoning_step.end';
  /**
   * The id of the reply. All events of a reply have the same.
   */
  response_id: string;
  /**
   * The id of the chat.
   */
  chat_id: number;
  /**
   * Counts the events of the stream from 0.
   */
  sequence_number: number;
  step: EndedReasoningStep;
}
/**
 * A reasoning step that has ended.
 */
export interface EndedReasoningStep {
  /**
   * The id of the step, the same in its start and its end.
   */
  id: string;
  /**
   * The kind of the step, one of `consultant_search_web`, `consultant_fetch_web_content`, `consultant_retrieve_context_source`, `consultant_call_agent`, `consultant_request_form`, `consultant_lookup`, `consultant_call_mcp_tool`, `consultant_call_http_api`, `consultant_call_function`, `consultant_call_client`. New types may be added.
   */
  type: string;
  result: ReasoningStepResult;
  /**
   * When the step ended: ISO 8601, UTC, milliseconds.
   */
  timestamp: string;
  token_usage: TokenUsage;
}
/**
 * The next part of the text of the reply.
 */
export interface ResponseOutputTextDeltaEvent {
  /**
   * The type of the event.
   */
  type: 'response.output_text.delta';
  /**
   * The id of the reply. All events of a reply have the same.
   */
  response_id: string;
  /**
   * The id of the chat.
   */
  chat_id: number;
  /**
   * Counts the events of the stream from 0.
   */
  sequence_number: number;
  /**
   * The text to append. All deltas together are the reply.
   */
  delta: string;
}
/**
 * The reply is complete.
 */
export interface ResponseOutputTextCompletedEvent {
  /**
   * The type of the event.
   */
  type: 'response.output_text.completed';
  /**
   * The id of the reply. All events of a reply have the same.
   */
  response_id: string;
  /**
   * The id of the chat.
   */
  chat_id: number;
  /**
   * Counts the events of the stream from 0.
   */
  sequence_number: number;
  /**
   * Id of the reply in the history, needed for feedback on it.
   */
  message_id: number;
  /**
   * The text of the whole reply.
   */
  final_text: string;
  usage: TokenUsage;
  /**
   * Why the reply was cut short without an error: `max_output_tokens` if it reached the token limit of its agent or the maximum length of a reply, `stopped` if a client has stopped it. New values may be added.
   */
  incomplete?: string;
  /**
   * The model that has replied, if it is not that of `response.created` but one of the fallback models of the agent.
   */
  model?: string;
}
/**
 * The reply has failed. No other event follows.
 */
export interface ResponseErrorEvent {
  /**
   * The type of the event.
   */
  type: 'response.error';
  /**
   * The id of the reply. All events of a reply have the same.
   */
  response_id: string;
  /**
   * The id of the chat.
   */
  chat_id: number;
  /**
   * Counts the events of the stream from 0.
   */
  sequence_number: number;
  /**
   * The reason, for people.
   */
  message: string;
  /**
   * Service error code, not an HTTP status. 10005 SYS_SERVER_ERROR: the reply failed. 10006 SYS_BAD_REQUEST: the request cannot be processed.
   */
  code: number;
}
/**
 * A reply that was stopped.
 */
export interface StoppedReply {
  /**
   * The id of the chat.
   */
  chat_id: number;
  /**
   * The `response_id` of the events of the reply.
   */
  response_id: string;
  /**
   * `stopped`: the chat takes the next message; `stopping`: the reply will end within seconds.
   */
  status: 'stopped' | 'stopping';
}
/**
 * A file whose upload failed.
 */
export interface FailedUpload {
  /**
   * The name of the file, empty if it is unknown.
   */
  original_name: string;
  /**
   * The MIME type of the file, empty if it is unknown.
   */
  content_type: string;
  /**
   * The size of the file in bytes, 0 if it is unknown.
   */
  size: number;
  /**
   * `persistent` or `ephemeral`.
   */
  scope: 'persistent' | 'ephemeral';
  /**
   * Why the upload failed. `message` of the envelope has the same text.
   */
  error_msg: string;
  /**
   * What was found, or what to send instead. Only if the extension, the type or the content is rejected. The text may change.
   */
  hint?: string;
}
/**
 * An uploaded file that was deleted.
 */
export interface DeletedFile {
  /**
   * The `uuid` of the file.
   */
  uuid: string;
  /**
   * true: the file is gone.
   */
  deleted: boolean;
}
/**
 * A batch of messages.
 */
export interface Batch {
  /**
   * The id of the batch.
   */
  id: string;
  /**
   * `in_progress`, then `completed`, `failed`, or `cancelling` and `cancelled`. A batch whose time has run out ends as `completed`.
   */
  status: 'in_progress' | 'completed' | 'failed' | 'cancelling' | 'cancelled';
  /**
   * The id of the agent that replies to each request that names no other agent.
   */
  agent_id: string;
  /**
   * How many requests were submitted.
   */
  total_requests: number;
  /**
   * How many requests have succeeded so far.
   */
  completed_requests: number;
  /**
   * How many requests have failed so far.
   */
  failed_requests: number;
  /**
   * The pairs of its client; `{}` without any. An addition.
   */
  metadata: {
    [k: string]: string;
  };
  /**
   * When it was created: ISO 8601, UTC, milliseconds.
   */
  created_at: string;
  /**
   * When the batch was completed: ISO 8601, UTC. null before.
   */
  completed_at: string | null;
  /**
   * When the batch was cancelled: ISO 8601, UTC. null unless cancelled.
   */
  cancelled_at: string | null;
  /**
   * When requests that have not started time out.
   */
  expires_at: string;
}
/**
 * The result of one request of a batch.
 */
export interface BatchResult {
  /**
   * The client's key of the request.
   */
  custom_id: string;
  /**
   * `pending`, then `processing`, then `success` or `failed`. An addition: a request is `pending` again while it waits for another attempt.
   */
  status: 'pending' | 'processing' | 'success' | 'failed';
  /**
   * The text of the reply, null without success.
   */
  response_content: string | null;
  /**
   * The model calls of the request, null without success.
   */
  response_usage: BatchResultUsage | null;
  /**
   * Why the reply was cut short without an error: `max_output_tokens` if it reached the token limit of its agent or the maximum length of a reply, `stopped` if a client has stopped it. New values may be added.
   */
  incomplete: string | null;
  /**
   * Why the request failed, null unless it failed:
   *
   * - 400: the request is invalid
   * - 408: the batch timed out before the request was processed
   * - 499: the batch was cancelled before the request was processed
   * - 500: internal server error while the request was processed
   */
  error_code: number | null;
  /**
   * Why the request failed, null unless it failed.
   */
  error_message: string | null;
  /**
   * The id of the chat of the request, null if it has none.
   */
  history_id: number | null;
  /**
   * The same id as `history_id`.
   */
  conversation_id: number | null;
  /**
   * Id of the reply in the history.
   */
  message_id: number | null;
  /**
   * When the request ended: ISO 8601, UTC. null until the request has ended.
   */
  processed_at: string | null;
}
/**
 * The model calls of a request of a batch: those of `tool_calls` and `main_response` add up to the totals.
 */
export interface BatchResultUsage {
  /**
   * Every other model call: those in which the agent called tools, and those that tools made.
   */
  tool_calls: ModelCall[];
  /**
   * How many times models were called.
   */
  total_calls: number;
  /**
   * Tokens of prompts and generated tokens together.
   */
  total_tokens: number;
  /**
   * Tokens of prompts.
   */
  total_prompt_tokens: number;
  /**
   * Tokens that models have generated.
   */
  total_completion_tokens: number;
  /**
   * The part of the prompts that the provider has read from its cache.
   */
  cached_prompt_tokens: number;
  /**
   * The last model call of the agent itself. It is not in `tool_calls`.
   */
  main_response: ModelCall | null;
}
/**
 * One model call.
 */
export interface ModelCall {
  /**
   * The name of the model.
   */
  model: string;
  /**
   * `chat` for calls of the agent itself, else the type of the reasoning step that made the call.
   */
  call_type: string;
  /**
   * Tokens of prompts and generated tokens together.
   */
  total_tokens: number;
  /**
   * Tokens of prompts.
   */
  prompt_tokens: number;
  /**
   * Tokens that models have generated.
   */
  completion_tokens: number;
  /**
   * The part of the prompts that the provider has read from its cache.
   */
  cached_prompt_tokens: number;
}
/**
 * How to store the file: JSON of at most 65,536 bytes and 1,000 fields and elements, as a part of type application/json or as a text field.
 */
export interface UploadData {
  /**
   * `persistent`: the file is stored until it is erased. `ephemeral`: it expires after 24 hours.
   */
  scope?: 'persistent' | 'ephemeral';
}
/**
 * The query of listChats.
 */
export interface ListChatsQuery {
  /**
   * The page size.
   */
  limit?: number;
  /**
   * How many elements to skip.
   */
  offset?: number;
  /**
   * Set by `next_page` and `prev_page`: the page goes on after, or ends before, an element of the last one, also if elements were added or deleted meanwhile. It is ignored with another `offset` than that of its link.
   */
  cursor?: string;
  /**
   * `created_at` and `asc`: oldest first. `-created_at` and `desc`: newest first.
   */
  order_by?: 'created_at' | '-created_at' | 'asc' | 'desc';
  /**
   * Only chats with this agent.
   */
  agent_id?: string;
  /**
   * Only chats of this user.
   */
  external_user_id?: string;
}
/**
 * The query of listMessages.
 */
export interface ListMessagesQuery {
  /**
   * The page size.
   */
  limit?: number;
  /**
   * How many elements to skip.
   */
  offset?: number;
  /**
   * Required here or in the header x-external-user-id.
   */
  external_user_id?: string;
  /**
   * `created_at` and `asc`: oldest first. `-created_at` and `desc`: newest first.
   */
  order_by?: 'created_at' | '-created_at' | 'asc' | 'desc';
}
/**
 * The query of listBatches.
 */
export interface ListBatchesQuery {
  /**
   * The page size.
   */
  limit?: number;
  /**
   * How many elements to skip.
   */
  offset?: number;
  /**
   * Set by `next_page` and `prev_page`: the page goes on after, or ends before, an element of the last one, also if elements were added or deleted meanwhile. It is ignored with another `offset` than that of its link.
   */
  cursor?: string;
  /**
   * Only batches with this status.
   */
  status?: 'in_progress' | 'completed' | 'failed' | 'cancelling' | 'cancelled';
}
/**
 * The query of listBatchResults.
 */
export interface ListBatchResultsQuery {
  /**
   * The page size.
   */
  limit?: number;
  /**
   * How many elements to skip.
   */
  offset?: number;
  /**
   * Only results with this status.
   */
  status?: 'pending' | 'processing' | 'success' | 'failed';
}
