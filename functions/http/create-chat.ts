import { chatResource } from '#domain/chat.ts';
import { createChat } from '#domain/create-chat.ts';
import { bufferedRoute } from '#runtime/buffered-route.ts';
import { agents, chats, workspaces } from '#runtime/services.ts';

const create = createChat({ agents: agents(), chats: chats(), workspaces: workspaces() });

export const handler = bufferedRoute(
  'create-chat',
  async ({ workspaceId, body, admitted }) => ({
    data: chatResource(
      await create({
        workspaceId,
        agentId: body.agent_id,
        name: body.name,
        externalUserId: body.external_user_id,
        admitted,
      }),
    ),
  }),
  { waits: true },
);
