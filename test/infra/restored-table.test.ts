import { describe, expect, test } from 'vitest';
import { variables } from '#runtime/environment/variables.ts';
import { type Resource, synthesize } from './synthesize.ts';

const restoredTable = 'agent-service-restored';
/** The values of a property, wherever the template has it. */
function valuesOf(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => (key === name ? [child] : valuesOf(child, name)));
}

describe.each(['all', 'none'])('a stage on a restored table, with web functions: %s', (webFunctions) => {
  const ownStage = synthesize({ settings: { webFunctions } });
  const stage = synthesize({ settings: { webFunctions, restoredTable } });
  const [own, template] = [ownStage.template, stage.template];
  const resourcesOf = (one: typeof own) => one.toJSON().Resources as Record<string, Resource>;

  test('has the same resources, less its own table', () => {
    const [before, after] = [own, template].map((one) => Object.keys(resourcesOf(one)));
    // The id of a gateway's deployment is a digest of the gateway, and the id of a version one of its function.
    const withoutDigests = (ids: string[] = []) =>
      ids.map((id) => id.replace(/[0-9a-f]{32}$/, '')).toSorted();
    expect(withoutDigests(before).filter((id) => id !== 'DataTable')).toEqual(withoutDigests(after));
    expect(before).toContain('DataTable');
  });

  test('refers to that table by its name alone', () => {
    expect(JSON.stringify(own.toJSON())).toContain('"DataTable"');
    expect(JSON.stringify(template.toJSON())).not.toContain('"DataTable"');
    expect(new Set(valuesOf(template.toJSON(), variables.dataTable))).toEqual(new Set([restoredTable]));
    const dimensions = Object.values(template.findResources('AWS::CloudWatch::Alarm'))
      .flatMap((alarm) => valuesOf(alarm, 'Dimensions').flat() as { Name: string; Value: unknown }[])
      .filter(({ Name }) => Name === 'TableName');
    expect(new Set(dimensions.map(({ Value }) => Value))).toEqual(new Set([restoredTable]));
    expect(template.findOutputs('DataTableName').DataTableName?.Value).toBe(restoredTable);
  });
});
