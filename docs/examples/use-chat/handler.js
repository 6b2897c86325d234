import { ChatBatchClient, toUIMessageStream } from '@chat-batch/client';
import { createUIMessageStreamResponse } from 'ai';

const client = new ChatBatchClient({ baseUrl: process.env.BASE_URL, apiKey: process.env.API_KEY });
const agent_id = process.env.AGENT_ID;

/** The route that `useChat` calls, for example `app/api/chat/route.js` of Next.js. */
export async function POST(request) {
  const { messages } = await request.json();
  // Who is signed in at your server. A chat belongs to this user, so nobody can name the chat of another one.
  const external_user_id = 'ada';
  const chatId =
    messages.findLast(({ metadata }) => metadata?.chatId)?.metadata.chatId ??
    (await client.chats.create({ name: 'Chat', agent_id, external_user_id })).id;
  const message = messages
    .at(-1)
    .parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('');

  request.signal.throwIfAborted();
  const stream = client.messages.stream(chatId, { message, agent_id, external_user_id });
  // `stop` of `useChat` closes the connection. Without this line the service would finish the reply.
  request.signal.addEventListener('abort', () => stream.stop().catch(console.error));
  return createUIMessageStreamResponse({ stream: toUIMessageStream(stream) });
}
