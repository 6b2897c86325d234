import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** `file:///var/task/index.mjs:12:3456` */
const location = /(file:\/\/[^\s()]+):(\d+):(\d+)/g;

const maps = new Map<string, SourceMap | undefined>();

/**
 * A stack trace with the places of the sources instead of the bundle's. For traces that are logged: Node's
 * `--enable-source-maps` does it to every error at which something looks, and there is one in each reply (a web stream
 * that is let go of makes one), at 150 ms of processor and 50 MB for a function's first.
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

/** Undefined for a module that has none, and for one that cannot be read: a trace is logged in any case. */
function readMap(module: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(module)}.map`, 'utf8')));
  } catch {
    return undefined;
  }
}
