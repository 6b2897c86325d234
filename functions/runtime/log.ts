import { Logger } from '@aws-lambda-powertools/logger';
import type { Log } from '#domain/ports/log.ts';

/** JSON lines with the request's id. */
const logger = /* @__PURE__ */ new Logger({ serviceName: 'agent-service' });

export const log: Log = {
  info: (message, fields = {}) => logger.info(message, fields),
  warn: (message, fields = {}) => logger.warn(message, fields),
  error: (message, fields = {}) => logger.error(message, fields),
};

/** Every line until the next call carries these. */
export const logWith = (fields: { request_id: string; workspace_id?: string }): void => {
  logger.resetKeys();
  logger.appendKeys(fields);
};
