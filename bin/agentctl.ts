#!/usr/bin/env node
import { runAgentctl } from './agentctl/run-agentctl.ts';

await runAgentctl(process.argv);
