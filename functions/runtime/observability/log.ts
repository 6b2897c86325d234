import { Logger } from '@aws-lambda-powertools/logger';
import type { Log } from '#domain/platform/log.ts';
import { invocationContext } from '#runtime/environment/invocation-context.ts';
import { serviceDimension } from './metric-names.ts';
import { withSourcePositions } from './source-positions.ts';

/** JSON lines with the request id, at the stage's log level (`variables.logLevel`). */
const logger = /* @__PURE__ */ new Logger({ serviceName: serviceDimension.service });

type Fields = Record<string, unknown>;

/** Replaces an error by its harmless properties: others may contain data of the request. */
const withoutContents = ({ error, ...fields }: Fields): Fields =>
  error === undefined ? fields : { ...fields, error: describe(error) };

function describe(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error;
  const { name, message, stack, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    name,
    message,
    code,
    stack: stack && withSourcePositions(stack),
    cause: cause === undefined ? undefined : describe(cause),
  };
}

/** Adds the fields of the current invocation. */
function inInvocation(fields: Fields): Fields {
  const current = invocationContext().getStore();
  return { ...current?.environmentFields, ...current?.properties, ...withoutContents(fields) };
}

export const log: Log = {
  info: (message, fields = {}) => logger.info(message, inInvocation(fields)),
  warn: (message, fields = {}) => logger.warn(message, inInvocation(fields)),
  error: (message, fields = {}) => logger.error(message, inInvocation(fields)),
};
