import { route } from '#contract/routes/send-message.ts';
import { streamedHandler } from '#runtime/http/streamed-route.ts';
import { serve } from '#runtime/routes/send-message.ts';

export const handler = streamedHandler(serve, route);
