import { Metrics } from '@aws-lambda-powertools/metrics';
import { environment } from '#runtime/environment/environment.ts';
import { type MetricDimension, type MetricName, metrics, serviceDimension } from './metric-names.ts';

/** The values of those dimensions that a metric has. */
export type Dimensions<Name extends MetricName> = Record<
  (typeof metrics)[Name]['dimensions'][number][number],
  string
>;

interface Group {
  dimensions: Readonly<Partial<Record<MetricDimension, string>>>;
  sets: (typeof metrics)[MetricName]['dimensions'];
  values: [MetricName, number][];
}

let client: Metrics | undefined;

/** What an invocation has measured, until it is told in its log. */
export class Measurements {
  readonly #groups = new Map<string, Group>();

  add<Name extends MetricName>(name: Name, value: number, dimensions: Dimensions<Name>): void {
    const { dimensions: sets } = metrics[name];
    const key = JSON.stringify([sets, dimensions]);
    const group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, { dimensions, sets, values: [[name, value]] });
    else group.values.push([name, value]);
  }

  /**
   * A line for each combination of dimensions: in one, CloudWatch would keep every metric under all of them.
   * @param properties stand beside the metrics, to search by
   */
  publish(properties: Readonly<Record<string, string | undefined>>): void {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    for (const { dimensions, sets, values } of groups) {
      client ??= new Metrics({
        namespace: environment('metricsNamespace'),
        serviceName: serviceDimension.service,
      });
      for (const [name, value] of Object.entries(properties))
        if (value !== undefined) client.addMetadata(name, value);
      const given: Partial<Record<string, string>> = dimensions;
      for (const set of sets)
        if (set.length > 0)
          client.addDimensions(Object.fromEntries(set.map((name) => [name, given[name] ?? ''])));
      for (const [name, value] of summed(values))
        client.addMetric(metrics[name].name, metrics[name].unit, value);
      client.publishStoredMetrics();
    }
  }
}

/** Counts as their sum; times and sizes one by one, for percentiles. */
function summed(values: readonly [MetricName, number][]): [MetricName, number][] {
  const sums = new Map<MetricName, number>();
  const single: [MetricName, number][] = [];
  for (const [name, value] of values)
    if (metrics[name].unit === 'Count') sums.set(name, (sums.get(name) ?? 0) + value);
    else single.push([name, value]);
  return [...sums, ...single];
}
