import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Logger } from '@aws-lambda-powertools/logger';
import type { Log } from '#domain/platform/services.ts';
import { invocationContext } from '#runtime/environment/invocation-context.ts';
import { serviceDimension } from './metric-names.ts';

const location = /(file:\/\/\/(?:[A-Za-z]:)?[^\s():]+):(\d+):(\d+)/g;

const maps = new Map<string, SourceMap | undefined>();

/** Node's `--enable-source-maps` would also map stacks that are not logged, which takes time and memory. */
export const withSourcePositions = (stack: string): string =>
  stack.replace(location, (bundled, module: string, line: string, column: string) => {
    const origin = mapOf(module)?.findOrigin(Number(line), Number(column));
    return origin !== undefined && 'fileName' in origin
      ? `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`
      : bundled;
  });

function mapOf(module: string): SourceMap | undefined {
  if (!maps.has(module)) maps.set(module, readMap(module));
  return maps.get(module);
}

function readMap(module: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(module)}.map`, 'utf8')));
  } catch {
    return undefined;
  }
}

const logger = /* @__PURE__ */ new Logger({ serviceName: serviceDimension.service });

type Fields = Record<string, unknown>;

/** Other properties of an error may contain data of the request. */
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

function inInvocation({ error, ...fields }: Fields): Fields {
  const current = invocationContext().getStore();
  const all = { ...current?.environmentFields, ...current?.properties, ...fields };
  return error === undefined ? all : { ...all, error: describe(error) };
}

export const log: Log = {
  info: (message, fields = {}) => logger.info(message, inInvocation(fields)),
  warn: (message, fields = {}) => logger.warn(message, inInvocation(fields)),
  error: (message, fields = {}) => logger.error(message, inInvocation(fields)),
};
