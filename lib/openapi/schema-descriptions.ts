import { reasoningStepTypes } from '#contract/agent.ts';
import { limits } from '#contract/limits.ts';
import { batchResultErrorCodeText, errorCodeText, replyErrorCodeText } from './error-codes.ts';
import { requests, type SchemaDescription } from './request-descriptions.ts';

const stepTypes = `one of ${reasoningStepTypes.map((type) => `\`${type}\``).join(', ')}. New types may be added.`;

const incomplete =
  'Why the reply was cut short without an error: `max_output_tokens` if it reached the token limit of its agent or the maximum length of a reply, `stopped` if a client has stopped it. New values may be added.';
const chatName = 'The name of the chat.';
const createdAt = 'When it was created: ISO 8601, UTC, milliseconds.';
const updatedAt = 'When it was last changed: ISO 8601, UTC, milliseconds.';
const metadata = 'The pairs of its client; `{}` without any. An addition.';
const userOfChat = "The client's identifier of the user, null if the chat was created without one.";

const eventFields = {
  type: 'The type of the event.',
  response_id: 'The id of the reply. All events of a reply have the same.',
  chat_id: 'The id of the chat.',
  sequence_number: 'Counts the events of the stream from 0.',
};
const replyId = 'Id of the reply in the history, needed for feedback on it.';
const stepId = 'The id of the step, the same in its start and its end.';
const stepType = `The kind of the step, ${stepTypes}`;
const stepContent = 'What the step does, as a text for people.';
const stepArguments = 'What the model has passed to the tool.';

const events: Readonly<Record<string, SchemaDescription>> = {
  StreamEvent: { schema: 'An event of a streamed reply. `type` says which. New types may be added.' },
  ResponseCreatedEvent: {
    schema:
      'The first event: the message is stored and the reply starts. The model may still be unreachable.',
    ...eventFields,
    message_id: replyId,
    agent_id: 'The id of the agent that replies.',
    model: 'The name of the model.',
  },
  ResponseChatTitleUpdatedEvent: {
    schema:
      'The chat has a generated title, typically after its first message. It may come at any time until `[DONE]`, also after `response.output_text.completed`.',
    ...eventFields,
    name: 'The new name of the chat.',
  },
  ResponseReasoningStepStartEvent: { schema: 'A reasoning step has started.', ...eventFields },
  StartedReasoningStep: {
    schema: 'A reasoning step that has started.',
    id: stepId,
    content: stepContent,
    type: stepType,
    args: stepArguments,
    timestamp: 'When the step started: ISO 8601, UTC, milliseconds.',
  },
  ResponseReasoningStepEndEvent: { schema: 'A reasoning step has ended.', ...eventFields },
  EndedReasoningStep: {
    schema: 'A reasoning step that has ended.',
    id: stepId,
    type: stepType,
    timestamp: 'When the step ended: ISO 8601, UTC, milliseconds.',
  },
  ResponseOutputTextDeltaEvent: {
    schema: 'The next part of the text of the reply.',
    ...eventFields,
    delta: 'The text to append. All deltas together are the reply.',
  },
  ResponseOutputTextCompletedEvent: {
    schema: 'The reply is complete.',
    ...eventFields,
    message_id: replyId,
    final_text: 'The text of the whole reply.',
    incomplete,
    model:
      'The model that has replied, if it is not that of `response.created` but one of the fallback models of the agent.',
  },
  ResponseErrorEvent: {
    schema: 'The reply has failed. No other event follows.',
    ...eventFields,
    message: 'The reason, for people.',
    code: replyErrorCodeText,
  },
};

const batchCounts = {
  total_requests: 'How many requests were submitted.',
  completed_requests: 'How many requests have succeeded so far.',
  failed_requests: 'How many requests have failed so far.',
};
const batchStatus =
  '`in_progress`, then `completed`, `failed`, or `cancelling` and `cancelled`. A batch whose time has run out ends as `completed`.';
const promptTokens = 'Tokens of prompts.';
const cachedTokens = 'The part of the prompts that the provider has read from its cache.';
const completionTokens = 'Tokens that models have generated.';
const allTokens = 'Tokens of prompts and generated tokens together.';

const resources: Readonly<Record<string, SchemaDescription>> = {
  Agent: {
    schema: 'An agent of the workspace.',
    id: 'The id of the agent.',
    name: 'The name of the agent.',
    description: 'What the agent is for.',
    workspace_id: 'The id of the workspace that the agent belongs to.',
    publish_state: '`draft`, `published` or `unpublished`. New values may be added.',
    agent_type: '`consultant` by default. New values may be added.',
    system_prompt: 'The instructions of the agent.',
    unified_tools: 'What the agent can use while it replies.',
    suggested_questions: 'Questions that a client may propose to its users.',
    use_search: 'Whether the agent may search the web.',
    output_schema: 'An addition: the JSON Schema that every reply fits.',
    meta: 'How the agent uses its model, and any values of its operator.',
    llm_model: 'The model of the agent: a provider, or a provider and a model.',
    version_number: 'The number of the published version, null if the agent was never published.',
    published_version_id: 'The id of the published version, null if no version is published.',
    published_at: 'When the version was published: ISO 8601, UTC. null if no version is published.',
    created_at: createdAt,
    updated_at: updatedAt,
  },
  UnifiedTool: {
    schema: 'A tool of an agent.',
    type: `The reasoning step type, ${stepTypes}`,
    name: 'The name by which the model knows the tool. The default is the type.',
    description: 'What the tool is for, as the model reads it.',
    config: 'Settings of the tool. They depend on the type.',
  },
  Chat: {
    schema: 'A chat of a user with one agent.',
    id: 'The id of the chat.',
    name: chatName,
    external_user_id: userOfChat,
    metadata,
    created_at: createdAt,
    updated_at: updatedAt,
  },
  ChatMeta: {
    schema: 'What the chat is bound to.',
    external_user_id: userOfChat,
    conversation_agent_id: 'The id of the agent that the chat is bound to.',
    batch_id: 'The batch whose request has created the chat. An addition.',
  },
  DeletedChat: {
    schema: 'A chat that was deleted.',
    id: 'The id of the chat. It is never used again.',
    deleted: 'true: the chat is gone.',
  },
  DeletedFile: {
    schema: 'An uploaded file that was deleted.',
    uuid: 'The `uuid` of the file.',
    deleted: 'true: the file is gone.',
  },
  ErasedUser: {
    schema: 'A user whose erasure has started.',
    external_user_id: "The client's identifier of the user.",
    status: '`erasing`: the erasure has started. It ends within half an hour. New values may be added.',
  },
  StoppedReply: {
    schema: 'A reply that was stopped.',
    chat_id: 'The id of the chat.',
    response_id: 'The `response_id` of the events of the reply.',
    status: '`stopped`: the chat takes the next message; `stopping`: the reply will end within seconds.',
  },
  Message: {
    schema: 'A message of a chat: of its user, or a reply of its agent.',
    id: 'The id of the message. It is above 2^31 in most chats: read it as a 64-bit integer.',
    role: '`user` or `assistant`.',
    group_id: 'The same of a user message and the reply to it.',
    content: 'The text of the message.',
    attached_files: 'The files that are attached to the message.',
    feedback_counts: 'How many users have given each type of feedback; empty without feedback.',
    created_at: 'When the message was stored.',
  },
  MessageMeta: {
    schema:
      'Empty of a user message. A reply has its steps and usage, and `error` or `incomplete` if it was cut short.',
    reasoning_steps: 'The reasoning steps of the reply, in the order of their start.',
    incomplete,
  },
  ReplyError: {
    schema: 'Why the reply failed. The event response.error has the same values.',
    code: replyErrorCodeText,
    message: 'The reason, for people.',
  },
  ReasoningStep: {
    schema: 'A step that the agent took before it replied, such as a search.',
    id: 'The id of the step.',
    type: stepType,
    content: stepContent,
    args: stepArguments,
    result: 'What the step has found, null if it did not end.',
    started_at: 'When the step started: ISO 8601, UTC, milliseconds.',
    ended_at: 'When the step ended: ISO 8601, UTC, milliseconds. null if it did not end.',
  },
  ReasoningStepResult: {
    schema: 'The result of a reasoning step.',
    success: 'Whether the step succeeded.',
    data: 'What the step has found, of any JSON type. After a failure, the reason.',
  },
  TokenUsage: {
    schema: 'The tokens of all model calls of a reply or of a reasoning step.',
    total_prompt_tokens: promptTokens,
    total_completion_tokens: completionTokens,
    total_tokens: allTokens,
    total_calls: 'How many times models were called.',
    cached_prompt_tokens: cachedTokens,
  },
  UploadedFile: {
    schema: 'A file that was uploaded.',
    uuid: 'The id of the file, for `attached_file_uuids`.',
    original_name: 'The name of the file.',
    content_type: 'The MIME type of the file.',
    size: 'The size of the file in bytes.',
    file_url: `A URL that downloads the file, for at most ${limits.fileUrlMinutes} minutes. Each read of a history has a new one.`,
    scope: '`persistent` or `ephemeral`.',
  },
  FailedUpload: {
    schema: 'A file whose upload failed.',
    original_name: 'The name of the file, empty if it is unknown.',
    content_type: 'The MIME type of the file, empty if it is unknown.',
    size: 'The size of the file in bytes, 0 if it is unknown.',
    scope: '`persistent` or `ephemeral`.',
    error_msg: 'Why the upload failed. `message` of the envelope has the same text.',
    hint: 'What was found, or what to send instead. Only if the extension, the type or the content is rejected. The text may change.',
  },
  Batch: {
    schema: 'A batch of messages.',
    id: 'The id of the batch.',
    status: batchStatus,
    agent_id: 'The id of the agent that replies to each request that names no other agent.',
    ...batchCounts,
    metadata,
    created_at: createdAt,
    completed_at: 'When the batch was completed: ISO 8601, UTC. null before.',
    cancelled_at: 'When the batch was cancelled: ISO 8601, UTC. null unless cancelled.',
    expires_at: 'When requests that have not started time out.',
  },
  BatchResult: {
    schema: 'The result of one request of a batch.',
    custom_id: "The client's key of the request.",
    status:
      '`pending`, then `processing`, then `success` or `failed`. An addition: a request is `pending` again while it waits for another attempt.',
    response_content: 'The text of the reply, null without success.',
    response_usage: 'The model calls of the request, null without success.',
    incomplete,
    error_code: batchResultErrorCodeText,
    error_message: 'Why the request failed, null unless it failed.',
    history_id: 'The id of the chat of the request, null if it has none.',
    conversation_id: 'The same id as `history_id`.',
    message_id: 'Id of the reply in the history.',
    processed_at: 'When the request ended: ISO 8601, UTC. null until the request has ended.',
  },
  BatchResultUsage: {
    schema:
      'The model calls of a request of a batch: those of `tool_calls` and `main_response` add up to the totals.',
    tool_calls: 'Every other model call: those in which the agent called tools, and those that tools made.',
    total_calls: 'How many times models were called.',
    total_tokens: allTokens,
    total_prompt_tokens: promptTokens,
    total_completion_tokens: completionTokens,
    cached_prompt_tokens: cachedTokens,
    main_response: 'The last model call of the agent itself. It is not in `tool_calls`.',
  },
  ModelCall: {
    schema: 'One model call.',
    model: 'The name of the model.',
    call_type:
      '`chat` for calls of the agent itself, else the type of the reasoning step that made the call.',
    total_tokens: allTokens,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    cached_prompt_tokens: cachedTokens,
  },
  BatchEndedEvent: {
    schema: 'The body of a webhook call.',
    event:
      '`batch.completed`: every request has ended. `batch.failed`: the batch could not continue. `batch.cancelled`: the batch was cancelled.',
    timestamp: 'When the batch ended: ISO 8601, UTC, milliseconds.',
  },
  BatchEndedEventData: {
    schema: 'The batch that has ended.',
    id: 'The id of the batch.',
    status: 'The final status of the batch.',
    total_requests: 'How many requests were submitted.',
    completed_requests: 'How many requests have succeeded.',
    failed_requests: 'How many requests have failed.',
    metadata,
  },
  Pagination: {
    schema: 'Where the page is in the list.',
    limit: 'The page size used.',
    offset: 'How many elements were skipped.',
    total_records: 'How many elements the list has.',
    total_pages: 'How many pages of this size the list has.',
    current_page: 'The number of the page, counted from 1.',
    next_page: 'The URL of the next page, null if there is none.',
    prev_page: 'The URL of the previous page, null on the first page.',
  },
};

export const envelopeProperties = {
  message: 'null: only failures have a message.',
  error_code: '0: success.',
};
const failure = { message: 'What is wrong, for people.', error_code: errorCodeText };
const page = (schema: string, data: string): SchemaDescription => ({ schema, data, ...envelopeProperties });

const envelopes: Readonly<Record<string, SchemaDescription>> = {
  AgentListEnvelope: { ...envelopeProperties, data: 'The published agents.' },
  ChatListEnvelope: page('A page of chats.', 'The chats of the page.'),
  MessageListEnvelope: page('A page of messages.', 'The messages of the page.'),
  ReplyEnvelope: { ...envelopeProperties, data: 'The text of the whole reply.' },
  FeedbackEnvelope: { ...envelopeProperties, data: 'null.', message: '`Feedback created`.' },
  BatchListEnvelope: page('A page of batches.', 'The batches of the page.'),
  BatchResultListEnvelope: page('A page of results.', 'The results of the page.'),
  ErrorEnvelope: {
    schema: 'The response to a request that failed.',
    ...failure,
    data: 'null, or an object with details.',
  },
  UploadErrorEnvelope: {
    schema: 'The response to an upload that failed.',
    ...failure,
    data: 'The file. null if the form as a whole is wrong.',
  },
};

export const schemaDescriptions = { ...requests, ...resources, ...events, ...envelopes };
