import { limits, platformLimits } from '#contract/limits.ts';
import { shortBody } from '#contract/routes/route.ts';
import { contentTypes, typeOfExtension } from '#contract/upload.ts';

/**
 * `schema` describes the schema itself. These texts are not in the contract, so that function bundles do not contain
 * them.
 */
export type SchemaDescription = Readonly<Record<string, string>>;

const megabyte = 1024 * 1024;
const messageText = `The text of the user's message, at most ${limits.messageBytes.toLocaleString('en')} bytes of UTF-8. Blanks alone are a message too.`;
const whitelistUser = "The client's identifier of the user. Required if the workspace is in whitelist mode.";
const attachedFiles = `\`uuid\` of each uploaded file to attach. At most ${limits.attachedFilesDefault} files.`;
const publishedAgent = 'The id of a published agent of the workspace.';
const replyForm =
  'An addition: the form of the reply. A reply that is not in the form is an error, and no client gets its text.';
const metadata = `An addition: up to ${limits.metadataPairs} pairs of texts, which are returned with the resource. A key has 1 to ${limits.metadataKeyCharacters} characters, and all pairs have at most ${limits.metadataBytes} bytes as JSON (UTF-8).`;
const chatName = 'The name of the chat.';

export const requests: Readonly<Record<string, SchemaDescription>> = {
  CreateChatRequest: {
    schema: 'A new chat.',
    name: `${chatName} A generated title may replace it after the first message.`,
    agent_id: 'The id of the agent that replies in the chat. It cannot be changed.',
    external_user_id: whitelistUser,
    metadata,
  },
  RenameChatRequest: {
    schema: 'A new name for a chat, changes of its metadata, or both.',
    name: chatName,
    external_user_id: 'The user of the chat. Required if the chat has one.',
    metadata: `An addition: pairs that are set, or with null removed; other pairs stay. The bounds of \`metadata\` are those of all pairs after the change: ${limits.metadataPairs} pairs, ${limits.metadataBytes} bytes.`,
  },
  SendMessageRequest: {
    schema: 'A message to the agent of a chat.',
    message: messageText,
    stream:
      'true: the response is a stream of events (`text/event-stream`), as the reply is generated. false: the response is one JSON object (`application/json`) with the whole reply. Clients that read JSON alone must send false, because the default is true.',
    resumable: 'An addition: the stream can be resumed with `GET /chats/{chat_id}/stream`.',
    agent_id: 'The id of the agent that the chat was created with.',
    attached_file_uuids: attachedFiles,
    external_user_id: whitelistUser,
    response_format: replyForm,
  },
  ResponseFormat: {
    schema: 'The form of replies, as in the API of OpenAI.',
    type: '`text`: any text. `json_object`: a JSON object. `json_schema`: JSON that fits the schema.',
    json_schema: 'Required for the type `json_schema`.',
  },
  JsonSchemaFormat: {
    schema: 'A JSON Schema with a name.',
    name: 'A name of the form, for the model.',
    description: 'What the form is for, for the model.',
    'schema (property)':
      'The JSON Schema, at most 16 KiB. `pattern` and `format` are passed to the model and not checked. Keywords that cannot be checked are rejected, such as `if`.',
    strict: 'Without effect: the reply is always checked.',
  },
  StopReplyRequest: {
    schema: 'Which reply to stop.',
    external_user_id: 'The user of the chat. Required if the chat has one.',
    response_id:
      'The `response_id` of the reply to stop. If another reply is in progress, the request is rejected.',
  },
  UploadFileRequest: {
    schema: 'A form with a file.',
    file: [
      `1 byte to ${limits.fileBytes / megabyte} MB, about ${platformLimits.gatewayUpload} at a base address without large uploads; the whole form has at most ${limits.uploadBytes / megabyte} MB, ${limits.uploadParts} parts and ${limits.partHeaderBytes.toLocaleString('en')} bytes of their headers, and ${limits.uploadBytesPerMinute.toLocaleString('en')} bytes arrive in each minute.`,
      `The file name has at most ${limits.fileNameCharacters} characters, without C0, DEL, C1, U+2028 to U+202E, U+2066 to U+2069.`,
      `Extensions: ${Object.keys(typeOfExtension).join(', ')}. Types: ${contentTypes.join(', ')}, text/*. The content must match the type.`,
    ].join(' '),
  },
  UploadData: {
    schema: `How to store the file: JSON of at most ${limits.uploadDataBytes.toLocaleString('en')} bytes and ${shortBody.values.toLocaleString('en')} fields and elements, as a part of type application/json or as a text field.`,
    scope: `\`persistent\`: the file is stored until it is erased. \`ephemeral\`: it expires after ${limits.ephemeralHours} hours.`,
  },
  RecordFeedbackRequest: {
    schema: 'Feedback on a reply.',
    external_user_id: "The client's identifier of the user who gives the feedback.",
    type: '`sys_helpful`: the reply was helpful. `sys_improve`: the reply should be better.',
    content: 'What should be better; only with `sys_improve`.',
  },
  CreateBatchRequest: {
    schema: 'A new batch.',
    agent_id: `${publishedAgent} It replies to each request that names no other agent.`,
    requests: 'The requests, each with its own `custom_id`.',
    webhook: 'The server to call when the batch ends.',
    metadata,
    response_format: replyForm,
  },
  BatchRequestItem: {
    schema: 'One message of a batch.',
    custom_id: "The client's key of the request, unique within the batch. The result has the same key.",
    message: messageText,
    agent_id: `${publishedAgent} It replaces the agent of the batch for this request.`,
    external_user_id: whitelistUser,
    name: 'The name of the chat that is created for the request.',
    attached_file_uuids: attachedFiles,
    history_id: 'The id of a chat to continue. Without it, a chat is created for the request.',
  },
  WebhookConfiguration: {
    schema: 'The server to call when a batch ends.',
    url: 'An HTTPS URL without user name and password, blanks and backslashes. Its address must be public.',
    events: 'The events to send. An empty array selects no event. A repeated event is sent once.',
    secret: 'The secret that signs each call. Without it, calls are not signed.',
  },
};
