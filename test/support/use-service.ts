import { closeAfterTests } from './close-after-tests.ts';
import { openTenant } from './open-tenant.ts';
import { callsByMessage, startScriptedModel } from './scripted-model.ts';
import { type createTenant, type Service, type ServiceOptions, startService } from './service.ts';

/** `startService` for a whole test file, at its top level: the service closes after the file's last test. */
export const useService = async (options?: ServiceOptions): Promise<Service> =>
  closeAfterTests(await startService(options));

/**
 * Starts a scripted model provider and the service for a whole test file, and closes both after the file's last test.
 * The file calls it at its top level: `const { model, client, tenant } = await useScriptedService();`
 *
 * - `model` is the provider, which the tests script, and `callFor` returns its call for a message (`callsByMessage`).
 * - `service` is the service that test files share, or with `options` a service of the file's own (`startService`).
 * - `tenant` has a published agent that uses the provider's model, and `client` has the tenant's key. Its chats get no
 *   titles, unless `tenantOptions` say so.
 */
export async function useScriptedService(
  options?: ServiceOptions,
  tenantOptions?: Parameters<typeof createTenant>[0],
) {
  const model = closeAfterTests(await startScriptedModel());
  const service = await useService(
    options && { ...options, variables: { OPENAI_BASE_URL: model.url, ...options.variables } },
  );
  const tenant = await openTenant(service, {
    model: options === undefined ? model.sharedName : 'openai:test',
    titles: false,
    ...tenantOptions,
  });
  return { model, callFor: callsByMessage(model), service, tenant, client: tenant.client };
}
