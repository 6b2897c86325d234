import { describe, expect, test } from 'vitest';
import { variables } from '#runtime/environment/variables.ts';
import { evaluate, type Resource, type Statement, synthesize } from './synthesize.ts';

const restoredTable = 'agent-service-restored';
const pseudoParameters = {
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-west-1',
  'AWS::AccountId': '123456789012',
};
const tableArn = `arn:aws:dynamodb:eu-west-1:123456789012:table/${restoredTable}`;

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

  test('grants what a stage with its own table grants, on exactly this table', () => {
    const ofTable = ({ statements }: typeof stage) =>
      [...statements.values()].flat().filter(({ Action }) => [Action].flat()[0]?.startsWith('dynamodb:'));
    const granted = ofTable(stage);
    expect(new Set(granted.map(({ Resource }) => evaluate(template, Resource, pseudoParameters)))).toEqual(
      new Set([tableArn]),
    );
    const withoutResources = (statements: Statement[]) =>
      statements.map((statement) => ({ ...statement, Resource: '' }));
    expect(withoutResources(granted)).toEqual(withoutResources(ofTable(ownStage)));
  });
});
