import { createChatRoute } from '#contract/routes/chats.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serveWith } from '#runtime/routes/create-chat.ts';

export const handler = lambdaHandler(createChatRoute, serveWith());
