import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { schemaCases } from '../../support/json-schema-cases.ts';
import type { Tools } from '../languages.ts';

const verdicts = join(import.meta.dirname, '../../support/json-schema-verdicts.txt');

/**
 * Whether Python's jsonschema still gives the stored verdicts, with which the unit test compares our validator.
 * @returns the missing tool, if any
 */
export function compareVerdicts({ work, run, has }: Tools): string | undefined {
  if (!has('python3', '-c', 'import sys, venv; assert sys.version_info >= (3, 10)')) return 'Python 3.10';
  const folder = join(work, 'json-schema');
  run('python3', ['-m', 'venv', 'venv'], { folder });
  run('venv/bin/pip', ['install', '-q', '--disable-pip-version-check', '-r', 'requirements.txt'], { folder });
  const lines = schemaCases.map((schemaCase) => `${JSON.stringify(schemaCase)}\n`);
  writeFileSync(join(folder, 'cases.jsonl'), lines.join(''));
  const output = run('venv/bin/python', ['verdicts.py', 'cases.jsonl'], { folder });
  const computed = join(folder, 'verdicts.txt');
  writeFileSync(computed, output);
  if (output !== readFileSync(verdicts, 'utf8'))
    throw new Error(`${verdicts} differs from ${computed}: copy it there if the cases have changed`);
  console.log(`json-schema: ${lines.length} verdicts are those of jsonschema for Python`);
  return undefined;
}
