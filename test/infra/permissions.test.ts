import { expect, test } from 'vitest';
import { type Statement, synthesize } from './synthesize.ts';

const { statements } = synthesize();
const list = <Value>(value: Value | Value[]): Value[] => (Array.isArray(value) ? value : [value]);

/** The permission that X-Ray tracing needs: X-Ray has no ARNs to restrict it to. */
const isTracing = ({ Action, Resource }: Statement): boolean =>
  Resource === '*' && list(Action).toSorted().join() === 'xray:PutTelemetryRecords,xray:PutTraceSegments';

test('only the workflow and the roll-out have permissions on every resource, apart from tracing', () => {
  const owners = [...statements].filter(([, all]) =>
    all.some((statement) => list(statement.Resource).includes('*') && !isTracing(statement)),
  );
  // To deliver logs, and to describe alarms.
  expect(owners.map(([owner]) => owner).toSorted()).toEqual(['BatchesMachine', 'Rollout']);
});
