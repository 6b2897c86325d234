import { route } from '#contract/routes/resume-stream.ts';
import { streamedHandler } from '#runtime/http/streamed-route.ts';
import { serve } from '#runtime/routes/resume-stream.ts';

export const handler = streamedHandler(serve, route);
