import { Metrics } from '@aws-lambda-powertools/metrics';
import { environment } from '#runtime/environment/environment.ts';
import {
  type Metric,
  type MetricDimension,
  type MetricName,
  metrics,
  serviceDimension,
} from './metric-names.ts';

/** Values for the dimensions of the metric. */
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

/** Collects the measurements of an invocation until they are written to its log. */
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
   * Writes one log line for each combination of dimensions: in a common line, CloudWatch would assign all dimensions to
   * every metric.
   * @param properties additional searchable fields of each line
   */
  publish(properties: Readonly<Record<string, string | undefined>>): void {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    for (const group of groups) {
      client ??= new Metrics({
        namespace: environment('metricsNamespace'),
        serviceName: serviceDimension.service,
      });
      for (const [name, value] of Object.entries(properties))
        if (value !== undefined) client.addMetadata(name, value);
      addGroup(client, group);
      client.publishStoredMetrics();
    }
  }
}

function addGroup(client: Metrics, { dimensions, sets, values }: Group): void {
  const dimensionValues: Partial<Record<string, string>> = dimensions;
  for (const set of sets)
    if (set.length > 0)
      client.addDimensions(Object.fromEntries(set.map((name) => [name, dimensionValues[name] ?? ''])));
  for (const [key, value] of summed(values)) {
    const { name, formerName, unit }: Metric = metrics[key];
    client.addMetric(name, unit, value);
    if (formerName !== undefined) client.addMetric(formerName, unit, value);
  }
}

/** Adds up counts. Times and sizes stay single values, for percentiles. */
function summed(values: readonly [MetricName, number][]): [MetricName, number][] {
  const sums = new Map<MetricName, number>();
  const single: [MetricName, number][] = [];
  for (const [name, value] of values)
    if (metrics[name].unit === 'Count') sums.set(name, (sums.get(name) ?? 0) + value);
    else single.push([name, value]);
  return [...sums, ...single];
}
