import { Metric, type MetricProps } from 'aws-cdk-lib/aws-cloudwatch';
import { Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { type MetricName, metrics, serviceDimension } from '#runtime/observability/metric-names.ts';

/** The names of a metric's dimensions, of one of its sets. */
export type DimensionsOf<Name extends MetricName> = Partial<
  Record<(typeof metrics)[Name]['dimensions'][number][number], string>
>;

/** A metric that functions tell, under one of the sets of dimensions that it is kept under. */
export function serviceMetric<Name extends MetricName>(
  scope: Construct,
  name: Name,
  dimensions: DimensionsOf<Name>,
  options: Pick<MetricProps, 'label' | 'period' | 'statistic'> = {},
): Metric {
  const given = Object.keys(dimensions).toSorted().join();
  const sets: readonly (readonly string[])[] = metrics[name].dimensions;
  if (!sets.some((set) => set.toSorted().join() === given))
    throw new Error(`The metric ${name} is not kept under the dimensions "${given}"`);
  return new Metric({
    namespace: Stack.of(scope).stackName,
    metricName: metrics[name].name,
    dimensionsMap: { ...serviceDimension, ...(dimensions as Record<string, string>) },
    statistic: 'Sum',
    ...options,
  });
}

/** The metric once for each value that one of its dimensions has had. For dashboards: no alarm takes a search. */
export function everyServiceMetric<Name extends MetricName>(
  scope: Construct,
  name: Name,
  dimension: keyof DimensionsOf<Name> & string,
  statistic = 'Sum',
): string {
  const schema = ['service', dimension].join(',');
  return `SEARCH('{"${Stack.of(scope).stackName}",${schema}} MetricName="${metrics[name].name}"', '${statistic}', 300)`;
}
