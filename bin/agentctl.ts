#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// A third of what a command takes would else be to compile the AWS clients once more.
enableCompileCache();
const { runAgentctl } = await import('./agentctl/run-agentctl.ts');
await runAgentctl(process.argv);
