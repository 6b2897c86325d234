import type { ErasedUserResource } from '#contract/chat.ts';
import { eraseUserRoute } from '#contract/routes/workspace.ts';
import { requestErasure } from '#domain/erasure/erasure.ts';
import { clock, erasures, log, purgeQueue } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { clock, erasures: erasures(), log, purgeQueue: purgeQueue() };

export const handler = lambdaRoute(eraseUserRoute, async ({ workspaceId, apiKeyId, query }) => {
  const externalUserId = query.external_user_id;
  await requestErasure(services, { workspaceId, externalUserId }, `API key ${apiKeyId}`);
  return { data: { external_user_id: externalUserId, status: 'erasing' } satisfies ErasedUserResource };
});
