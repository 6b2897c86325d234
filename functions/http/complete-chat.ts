import { route } from '#contract/routes/complete-chat.ts';
import { streamedHandler } from '#runtime/http/streamed-route.ts';
import { serve } from '#runtime/routes/complete-chat.ts';

export const handler = streamedHandler(serve, route);
