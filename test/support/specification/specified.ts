/** Schemas whose shape the specification does not show. */
export const notShown: readonly string[] = ['ReasoningStep'];

/** Schemas that are listed by their own names. All others are parts of these, or of requests and responses. */
export const resources: readonly string[] = [
  ...['Agent', 'Batch', 'BatchResult', 'Chat', 'DeletedChat', 'ErasedUser', 'ErrorEnvelope', 'FailedUpload'],
  ...['Message', 'Pagination', 'ReasoningStep', 'StoppedReply', 'StreamEvent', 'TokenUsage', 'UploadedFile'],
];

/**
 * What the specification names, by location: fields, parameters, headers and codes. Each has its limits, `null` if it
 * may be null, and `…` if its shape is not shown.
 */
export const specified: Readonly<Record<string, string>> = {
  envelope: 'data null …, message null, error_code, pagination',
  ErrorEnvelope: 'data null …, message, error_code',
  Pagination: 'limit, offset, total_records, total_pages, current_page, next_page null, prev_page null',
  Agent:
    'id, name, description, workspace_id, publish_state, agent_type, created_at, updated_at, system_prompt, unified_tools …, suggested_questions …, use_search …, meta …, llm_model …',
  Chat: 'id, name, meta, meta.external_user_id, meta.conversation_agent_id, external_user_id, created_at, updated_at',
  Message:
    'id, role, group_id, content, meta, meta.reasoning_steps …, meta.token_usage, attached_files …, feedback_counts',
  TokenUsage: 'total_prompt_tokens, total_completion_tokens, total_tokens, total_calls',
  FailedUpload: 'original_name, content_type, size, scope, error_msg',
  UploadedFile: 'uuid, original_name, content_type, size, file_url, scope',
  Batch:
    'id, status, agent_id, total_requests, completed_requests, failed_requests, created_at, completed_at null, cancelled_at null',
  BatchResult:
    'custom_id, status, response_content null, response_usage null, response_usage.tool_calls, response_usage.tool_calls[].model, response_usage.tool_calls[].call_type, response_usage.tool_calls[].total_tokens, response_usage.tool_calls[].prompt_tokens, response_usage.tool_calls[].completion_tokens, response_usage.total_calls, response_usage.total_tokens, response_usage.total_prompt_tokens, response_usage.total_completion_tokens, response_usage.main_response null …, error_code null, error_message null, history_id null, conversation_id null, processed_at',
  'response.created': 'type, response_id, chat_id, agent_id, model',
  'response.chat.title.updated': 'type, response_id, chat_id, name',
  'response.reasoning_step.start':
    'type, response_id, chat_id, step, step.id, step.content, step.type, step.args …, step.timestamp',
  'response.reasoning_step.end':
    'type, response_id, chat_id, step, step.id, step.type, step.result, step.result.success, step.result.data …, step.timestamp, step.token_usage',
  'response.output_text.delta': 'type, response_id, chat_id, delta',
  'response.output_text.completed': 'type, response_id, chat_id, final_text, usage',
  'response.error': 'type, response_id, chat_id, message, code',
  'batch-ended':
    'x-service-signature, x-service-timestamp, event, timestamp, data, data.id, data.status, data.total_requests, data.completed_requests, data.failed_requests',
  'POST /chats': 'name maxLength 256, agent_id, external_user_id',
  'GET /chats': 'limit maximum 1000, offset, order_by, agent_id, external_user_id',
  'GET /chats/{chat_id}/messages': 'chat_id, limit, offset, external_user_id, x-external-user-id',
  'POST /chats/{chat_id}/messages':
    'chat_id, message, stream, agent_id, attached_file_uuids, external_user_id',
  'POST /chats/upload-file': 'file, data, data.scope',
  'POST /chats/{chat_id}/messages/{message_id}/feedbacks':
    'chat_id, message_id, external_user_id, type, content maxLength 500',
  'POST /batches':
    'agent_id, requests minItems 1 maxItems 1000, requests[].custom_id maxLength 256, requests[].message, requests[].agent_id, requests[].external_user_id, requests[].name maxLength 256, requests[].attached_file_uuids, requests[].history_id, webhook, webhook.url, webhook.events, webhook.secret maxLength 255',
  'GET /batches': 'limit maximum 1000, offset, status',
  'GET /batches/{batch_id}': 'batch_id',
  'GET /batches/{batch_id}/results': 'batch_id, limit maximum 1000, offset, status',
  'POST /batches/{batch_id}/cancel': 'batch_id',
  400: '10001, 10006',
  403: '10001, 14103',
  404: '10003',
  500: '10005',
};
