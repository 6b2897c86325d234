import { authorizeRequest } from '#domain/workspaces/api-keys.ts';
import { apiKeys, clock, log, meter, stageLimits, workspaces } from '#runtime/composition/services.ts';

export const authorize = authorizeRequest({
  apiKeys: apiKeys(),
  clock,
  log,
  meter,
  stageLimits: stageLimits(),
  workspaces: workspaces(),
});
