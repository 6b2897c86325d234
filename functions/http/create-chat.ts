import { route } from '#contract/routes/create-chat.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serveWith } from '#runtime/routes/create-chat.ts';

export const handler = lambdaHandler(
  route,
  serveWith(() => undefined),
);
