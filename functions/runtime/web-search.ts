import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { cachedSecret } from '#adapters/cached-secret.ts';
import { braveSearch, searxng } from '#adapters/outbound/web-search.ts';
import type { WebSearch } from '#domain/ports/web-search.ts';
import { clientTimeouts } from './client-timeouts.ts';
import { environment } from './environment.ts';

/** The provider that the stage names; null when it names none. */
export function makeWebSearch(): WebSearch | null {
  switch (environment('webSearchProvider')) {
    case undefined:
      return null;
    case 'searxng':
      return searxng(environment('webSearchUrl'));
    case 'brave':
      return braveSearch(
        environment('webSearchUrl'),
        cachedSecret(
          () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
          () => environment('webSearchApiKeySecret'),
        ),
      );
  }
}
