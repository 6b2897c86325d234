import { enableCompileCache } from 'node:module';
import { ownCacheFolder } from './own-cache-folder.ts';

// With the cache, a command need not compile the AWS SDK again.
const cacheFolder = ownCacheFolder();
if (cacheFolder !== undefined) enableCompileCache(cacheFolder);
const { bugReport } = await import('./failures.ts');
process.on('uncaughtExceptionMonitor', () => console.error(bugReport));
// EPIPE: the reader of the output, such as `head`, has closed it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
const { runAgentctl } = await import('./agentctl/run-agentctl.ts');
await runAgentctl(process.argv);
