import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { synthesize } from '../../bin/local/synthesize.ts';
import { certificate } from './certificate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the template that every test file runs. */
    assembly: string;
  }
}

/** Synthesizes the local stage once for all files; what a test needs otherwise it sets by a function's variables. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'service-assembly-'));
  await synthesize(folder, {});
  project.provide('assembly', folder);
  // Read when a process starts: those of the test files, which start later, trust the receivers of webhooks.
  process.env.NODE_EXTRA_CA_CERTS = join(folder, 'authority.pem');
  await writeFile(process.env.NODE_EXTRA_CA_CERTS, certificate.cert);
  return () => rm(folder, { recursive: true, force: true });
}
