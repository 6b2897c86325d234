import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** `file:///var/task/index.mjs:12:3456`; a path contains no other colon than that of a drive. */
const location = /(file:\/\/\/(?:[A-Za-z]:)?[^\s():]+):(\d+):(\d+)/g;

const maps = new Map<string, SourceMap | undefined>();

/**
 * Maps the positions of a stack trace from the bundle to the sources. Only logged stack traces need it. Node's
 * `--enable-source-maps` maps every stack that is read, and each reply has one (cancelling a web stream creates an
 * error): the first costs a function 150 ms of processor time and 50 MB.
 */
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

/** Undefined if the module has no source map or it cannot be read: the stack is logged in any case. */
function readMap(module: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(module)}.map`, 'utf8')));
  } catch {
    return undefined;
  }
}
