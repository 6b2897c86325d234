import { Logger } from '@aws-lambda-powertools/logger';
import type { Log } from '#domain/ports/log.ts';
import { withSourcePositions } from './source-positions.ts';

/** JSON lines with the request's id. */
const logger = /* @__PURE__ */ new Logger({ serviceName: 'agent-service' });

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

export const log: Log = {
  info: (message, fields = {}) => logger.info(message, withoutContents(fields)),
  warn: (message, fields = {}) => logger.warn(message, withoutContents(fields)),
  error: (message, fields = {}) => logger.error(message, withoutContents(fields)),
};

/** Every line until the next call tells the request and, once it is known, the workspace. */
export const logRequest = ({
  requestContext,
}: {
  requestContext: { requestId: string; authorizer?: { workspaceId?: unknown } | null | undefined };
}): void => {
  logger.resetKeys();
  logger.appendKeys({
    request_id: requestContext.requestId,
    workspace_id: requestContext.authorizer?.workspaceId,
  });
};
