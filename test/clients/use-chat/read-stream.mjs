// Prints the message that the AI SDK's own reader makes of a streamed reply.
import { ChatBatchClient, toUIMessageStream } from '@chat-batch/client';
import { readUIMessageStream } from 'ai';

const { BASE_URL, API_KEY, AGENT_ID } = process.env;
const client = new ChatBatchClient({ baseUrl: BASE_URL, apiKey: API_KEY });
const chat = await client.chats.create({ name: 'Read', agent_id: AGENT_ID });
const events = client.messages.stream(chat.id, { message: 'Read by the SDK', agent_id: AGENT_ID });
const messages = readUIMessageStream({ stream: toUIMessageStream(events), terminateOnError: true });
let last;
for await (const message of messages) last = message;
console.log(JSON.stringify(last));
