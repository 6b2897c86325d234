import { createChatRoute } from '#contract/routes/chats.ts';
import { type Chat, chatResource } from '#domain/chats/chat.ts';
import { createChat } from '#domain/chats/chats.ts';
import { agents, chatServices, idempotency, newChats } from '#runtime/composition/services.ts';
import { checkUsers, gatewayKeyOf, idempotencyKeyOf, replayHeaders } from '#runtime/http/request.ts';
import { serveRoute } from '#runtime/http/serve-route.ts';

const services = {
  ...chatServices(),
  agents: agents(),
  idempotency: idempotency(),
  newChats: newChats(),
};

/** @param onCreated called for each new chat, and again if the gateway repeats a request without an idempotency key */
export const serveWith = (onCreated?: (chat: Chat) => void) =>
  serveRoute(
    createChatRoute,
    async (request, { awaitRateLimit }) => {
      const { agent_id: agentId, external_user_id: externalUserId, name, metadata } = request.body;
      const { chat, replayed } = await createChat(
        services,
        { workspaceId: request.workspaceId, agentId, name, externalUserId, metadata },
        { client: idempotencyKeyOf(createChatRoute, request), gateway: gatewayKeyOf(request) },
        awaitRateLimit,
      );
      if (!replayed) onCreated?.(chat);
      return { data: chatResource(chat), headers: replayHeaders(replayed) };
    },
    { awaitsRateLimit: true, checkUsers },
  );
