/** Is imported before the code of the service: replaces the SDK's marshalling in this process. */
import { registerHooks } from 'node:module';

const url = new URL('marshalling.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@aws-sdk/util-dynamodb' ? { url, shortCircuit: true } : next(specifier, context),
});
