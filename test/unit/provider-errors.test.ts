import { expect, test } from 'vitest';
import { sendProviderError } from '#runtime/observability/provider-errors.ts';
import { showProviderErrors } from '../../bin/local/show-provider-errors.ts';

test('the first 300 characters of a 4xx response are shown, and nothing of another', async () => {
  const shown: string[] = [];
  const last = Promise.withResolvers<void>();
  const end = showProviderErrors((line) => (line.endsWith(': last') ? last.resolve() : shown.push(line)));
  for (const statusCode of [399, 400, 499, 500])
    sendProviderError({ statusCode, responseBody: `${'x'.repeat(300)}y` });
  sendProviderError({ statusCode: 418, responseBody: 'last' });
  await last.promise;
  end();
  const before = 'The model provider responded with status';
  expect(shown).toEqual([`${before} 400: ${'x'.repeat(300)}`, `${before} 499: ${'x'.repeat(300)}`]);
});
