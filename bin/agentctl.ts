#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Without the compile cache, a third of a command's time is the compilation of the AWS SDK.
enableCompileCache();
const { runAgentctl } = await import('./agentctl/run-agentctl.ts');
await runAgentctl(process.argv);
