import { authorizeRequest } from '#domain/workspaces/api-keys.ts';
import { apiKeys, clock, log, meter, stageLimits, workspaces } from '#runtime/composition/services.ts';

/** For the gateway's authorizer, and for the web function that clients reach without the gateway. */
export const authorize = authorizeRequest({
  apiKeys: apiKeys(),
  clock,
  log,
  meter,
  stageLimits: stageLimits(),
  workspaces: workspaces(),
});
