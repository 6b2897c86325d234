import { createChatRoute } from '#contract/routes/chats.ts';
import { resumeStreamRoute, sendMessageRoute } from '#contract/routes/messages.ts';
import { completeChatRoute } from '#contract/routes/openai.ts';
import { serveRoutes } from '#runtime/http/serve-routes.ts';
import { serveWith } from '#runtime/routes/create-chat.ts';
import { serve as resumeStream } from '#runtime/routes/resume-stream.ts';
import { histories, serve as sendMessage } from '#runtime/routes/send-message.ts';

/** Many replies can wait for their models in one environment. */
serveRoutes([
  { route: sendMessageRoute, serve: sendMessage },
  { route: resumeStreamRoute, serve: resumeStream },
  { route: createChatRoute, serve: serveWith(histories.addNewChat) },
  {
    route: completeChatRoute,
    form: async () => (await import('#runtime/http/openai-form.ts')).openAiForm,
    serve: async (request, writer) =>
      (await import('#runtime/routes/complete-chat.ts')).serve(request, writer),
  },
]);
