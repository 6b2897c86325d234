import { join } from 'node:path';

/**
 * The folder with the compiled code of functions that all services of one run of the tests share: half of a cold start
 * is compiling.
 */
export const compileCacheOf = (assembly: string): string => join(assembly, '../compile-cache');
