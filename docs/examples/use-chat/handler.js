// The page's server. Each function takes a Request and returns a Response, so every framework can call it. In Next.js:
//
//   app/api/chats/route.js         export { createChat as POST } from '…/handler.js';
//   app/api/chat/route.js          export { readChat as GET, sendMessage as POST, stopReply as DELETE } from '…/handler.js';
//   app/api/chat/stream/route.js   export { resumeReply as GET } from '…/handler.js';
//   app/api/files/route.js         export { uploadFile as POST } from '…/handler.js';
import {
  ApiError,
  BadRequestError,
  ChatBatchClient,
  ReplyFailedError,
  toSendParams,
  toUIFilePart,
  toUIMessageStream,
  toUIMessages,
} from '@chat-batch/client';
import { createUIMessageStreamResponse } from 'ai';

/** Who is signed in at your server. A chat belongs to this user, so nobody can use the chat of another one. */
const userOf = (_request) => 'ada';

let opened;
/** The variables are read at the first request: a build has none. */
export function service() {
  const { BASE_URL, API_KEY, AGENT_ID } = process.env;
  const missing = Object.entries({ BASE_URL, API_KEY, AGENT_ID }).filter(([, value]) => !value);
  if (missing.length > 0) throw new Error(`Set the variables ${missing.map(([name]) => name).join(', ')}`);
  opened ??= { client: new ChatBatchClient({ baseUrl: BASE_URL, apiKey: API_KEY }), agent_id: AGENT_ID };
  return opened;
}

const route = (respond) => async (request) => {
  try {
    const { searchParams } = new URL(request.url);
    // No chat has the id 0.
    const chatId = Number(searchParams.get('chat')) || 0;
    const response_id = searchParams.get('response') ?? undefined;
    return await respond({ ...service(), external_user_id: userOf(request), chatId, response_id }, request);
  } catch (error) {
    return new Response(textFor(error), { status: error instanceof ApiError ? error.status : 500 });
  }
};

/** What the page may see. Other errors name addresses and variables of your server. */
function textFor(error) {
  if (error instanceof ApiError || error instanceof ReplyFailedError) return error.message;
  console.error(error);
  return 'The service cannot be reached: try again later';
}

export const createChat = route(async ({ client, agent_id, external_user_id }) =>
  Response.json(await client.chats.create({ name: 'New chat', agent_id, external_user_id })),
);

export const readChat = route(async ({ client, external_user_id, chatId }) => {
  const { name } = await client.chats.get(chatId, { external_user_id });
  const history = [];
  for await (const message of client.messages.list(chatId, { external_user_id, limit: 100 }))
    history.push(message);
  return Response.json({ name, messages: toUIMessages(history) });
});

// The reply is resumable, and a page that goes away does not stop it: after a reload, the page shows it again.
export const sendMessage = route(async ({ client, agent_id, external_user_id, chatId }, request) => {
  const { message } = await request.json();
  const params = { ...toSendParams(message), agent_id, external_user_id, resumable: true };
  return streamTo(client.messages.stream(chatId, params));
});

export const resumeReply = route(async ({ client, external_user_id, chatId, response_id }) => {
  // 204 is how `useChat` learns that there is nothing to resume.
  if (response_id === undefined) return new Response(null, { status: 204 });
  return streamTo(client.messages.resume(chatId, { response_id, external_user_id }));
});

const streamTo = (reply) =>
  createUIMessageStreamResponse({ stream: toUIMessageStream(reply, { onError: textFor }) });

export const stopReply = route(async ({ client, external_user_id, chatId, response_id }) => {
  await client.messages.stop(chatId, { external_user_id, response_id }).catch((error) => {
    // The reply has ended meanwhile.
    if (!(error instanceof BadRequestError)) throw error;
  });
  return new Response(null, { status: 204 });
});

export const uploadFile = route(async ({ client }, request) => {
  const file = (await request.formData()).get('file');
  return Response.json(toUIFilePart(await client.files.upload(file)));
});
