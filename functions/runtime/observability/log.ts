import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@aws-lambda-powertools/logger';
import type { Context } from 'aws-lambda';
import type { Log } from '#domain/platform/log.ts';
import { serviceDimension } from './metric-names.ts';
import { withSourcePositions } from './source-positions.ts';

/** JSON lines with the request's id, at the level that the stage says (`variables.logLevel`). */
const logger = /* @__PURE__ */ new Logger({ serviceName: serviceDimension.service });

type Fields = Record<string, unknown>;

/** An error's own properties may hold what was sent, so only what is known to be harmless is logged. */
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

/** What lines tell of the request that they come from, where several are under way side by side. */
const requestFields = /* @__PURE__ */ new AsyncLocalStorage<Fields>();

const withRequest = (fields: Fields): Fields => ({ ...requestFields.getStore(), ...withoutContents(fields) });

export const log: Log = {
  info: (message, fields = {}) => logger.info(message, withRequest(fields)),
  warn: (message, fields = {}) => logger.warn(message, withRequest(fields)),
  error: (message, fields = {}) => logger.error(message, withRequest(fields)),
};

/** Every line of this work tells these fields. */
export const loggingAs = <Result>(fields: Fields, work: () => Result): Result =>
  requestFields.run({ ...fields }, work);

/** From now on, every line of the work that this is called in tells these fields too. */
export const addToLog = (fields: Fields): void => void Object.assign(requestFields.getStore() ?? {}, fields);

/** Every line until the next call tells these fields, which function it is, and whether it has just been started. */
export function logInvocation(context: Context, fields: Record<string, string | undefined>): void {
  logger.resetKeys();
  logger.addContext(context);
  logger.appendKeys(fields);
}

/** Lines of this invocation tell these fields too. */
export const logAlso = (fields: Record<string, string>): void => logger.appendKeys(fields);
