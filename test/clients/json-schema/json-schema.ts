import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { problemOfData, problemOfSchema, smallestInstance } from '../../../functions/contract/json-schema.ts';
import type { Tools } from '../languages.ts';
import { schemaCases } from './cases.ts';

/**
 * Whether our validator gives the verdicts of Python's jsonschema, and finds instances of most schemas.
 * @returns the missing tool, if any
 */
export function compareVerdicts({ work, run, has }: Tools): string | undefined {
  if (!has('python3', '-c', 'import sys, venv; assert sys.version_info >= (3, 10)')) return 'Python 3.10';
  const folder = join(work, 'json-schema');
  run('python3', ['-m', 'venv', 'venv'], { folder });
  run('venv/bin/pip', ['install', '-q', '--disable-pip-version-check', '-r', 'requirements.txt'], { folder });
  const lines = schemaCases.map((schemaCase) => `${JSON.stringify(schemaCase)}\n`);
  writeFileSync(join(folder, 'cases.jsonl'), lines.join(''));
  const bits = run('venv/bin/python', ['verdicts.py', 'cases.jsonl'], { folder }).trim();
  assert.equal(bits.length, schemaCases.length);
  const different = schemaCases.filter(
    ({ schema, data }, index) =>
      problemOfSchema(schema) !== undefined ||
      (problemOfData(schema, data) === undefined) !== (bits[index] === '1'),
  );
  assert.deepEqual(different.slice(0, 3), []);

  const schemas = schemaCases.filter((_, index) => index % 10 === 0).map(({ schema }) => schema);
  const found = schemas.filter((schema) => {
    const instance = smallestInstance(schema);
    if (instance !== undefined) assert.equal(problemOfData(schema, instance), undefined);
    return instance !== undefined;
  });
  assert.ok(
    found.length > 0.75 * schemas.length,
    `Only ${found.length} of ${schemas.length} have an instance`,
  );
  console.log(`json-schema: ${bits.length} verdicts are those of jsonschema for Python`);
  return undefined;
}
