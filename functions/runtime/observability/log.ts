import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@aws-lambda-powertools/logger';
import type { Context } from 'aws-lambda';
import type { Log } from '#domain/platform/log.ts';
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

/** The log fields of a request, in functions that serve several requests concurrently. */
const requestFields = /* @__PURE__ */ new AsyncLocalStorage<Fields>();

const withRequest = (fields: Fields): Fields => ({ ...requestFields.getStore(), ...withoutContents(fields) });

export const log: Log = {
  info: (message, fields = {}) => logger.info(message, withRequest(fields)),
  warn: (message, fields = {}) => logger.warn(message, withRequest(fields)),
  error: (message, fields = {}) => logger.error(message, withRequest(fields)),
};

/** Runs the work with these fields in all its log lines. */
export const withRequestFields = <Result>(fields: Fields, work: () => Result): Result =>
  requestFields.run({ ...fields }, work);

/** Adds fields to the further log lines of the current `withRequestFields`. */
export const addRequestFields = (fields: Fields): void =>
  void Object.assign(requestFields.getStore() ?? {}, fields);

/** Sets the fields of all log lines until the next call: these, the function's name and whether it is a cold start. */
export function logInvocation(context: Context, fields: Record<string, string | undefined>): void {
  logger.resetKeys();
  logger.addContext(context);
  logger.appendKeys(fields);
}

/** Adds fields to the further log lines of the invocation. */
export const addInvocationFields = (fields: Record<string, string>): void => logger.appendKeys(fields);
