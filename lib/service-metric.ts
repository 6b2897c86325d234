import { MathExpression, Metric, type MetricProps } from 'aws-cdk-lib/aws-cloudwatch';
import { Duration, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { type MetricName, metrics, serviceDimension } from '#runtime/observability/metric-names.ts';

type DimensionsOf<Name extends MetricName> = Partial<
  Record<(typeof metrics)[Name]['dimensions'][number][number], string>
>;

/** @throws Error if functions do not emit the metric under these dimensions */
export function serviceMetric<Name extends MetricName>(
  scope: Construct,
  name: Name,
  dimensions: DimensionsOf<Name>,
  options: Pick<MetricProps, 'label' | 'period' | 'statistic'> = {},
): Metric {
  const given = Object.keys(dimensions).toSorted().join();
  const sets: readonly (readonly string[])[] = metrics[name].dimensions;
  if (!sets.some((set) => set.toSorted().join() === given))
    throw new Error(`The metric ${name} is not emitted under the dimensions "${given}"`);
  return new Metric({
    namespace: Stack.of(scope).stackName,
    metricName: metrics[name].name,
    dimensionsMap: { ...serviceDimension, ...(dimensions as Record<string, string>) },
    statistic: 'Sum',
    ...options,
  });
}

/** Only for dashboards: alarms take no search. */
export function everyServiceMetric<Name extends MetricName>(
  scope: Construct,
  name: Name,
  dimension: keyof DimensionsOf<Name> & string,
  { label = '', statistic = 'Sum' }: { label?: string; statistic?: string } = {},
): MathExpression {
  const schema = ['service', dimension].join(',');
  return new MathExpression({
    expression: `SEARCH('{"${Stack.of(scope).stackName}",${schema}} MetricName="${metrics[name].name}"', '${statistic}', 300)`,
    usingMetrics: {},
    label,
    period: Duration.minutes(5),
  });
}
