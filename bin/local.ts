#!/usr/bin/env node
import { startLocally } from './local/start-locally.ts';

await startLocally(process.argv);
