interface EmbeddedMetrics {
  _aws: {
    CloudWatchMetrics: {
      Namespace: string;
      Dimensions: string[][];
      Metrics: { Name: string; Unit: string }[];
    }[];
  };
}

/** Reads CloudWatch's embedded metric format as CloudWatch does; undefined for any other line. */
export function readMetricLine(functionName: string, line: string) {
  if (!line.includes('"_aws"')) return undefined;
  const parsed = JSON.parse(line) as EmbeddedMetrics & Record<string, unknown>;
  const [directive] = parsed._aws.CloudWatchMetrics;
  if (directive === undefined) throw new Error(`No metrics in ${line}`);
  return {
    functionName,
    namespace: directive.Namespace,
    /** The sets of dimensions, with their values, under which CloudWatch stores every metric of the line. */
    dimensions: directive.Dimensions.map((set) =>
      Object.fromEntries(set.map((name) => [name, parsed[name] as string])),
    ),
    metrics: Object.fromEntries(
      directive.Metrics.map(({ Name, Unit }) => [
        Name,
        { unit: Unit, value: parsed[Name] as number | number[] },
      ]),
    ),
    properties: parsed,
  };
}

/** The metrics that a function emitted in one log line. */
export type MetricLine = NonNullable<ReturnType<typeof readMetricLine>>;
