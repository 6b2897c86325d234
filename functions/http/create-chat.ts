import { route } from '#contract/routes/create-chat.ts';
import { observedRoute } from '#runtime/http/observed-route.ts';
import { respondWith } from '#runtime/routes/create-chat.ts';

export const handler = observedRoute(
  route,
  respondWith(() => undefined),
);
