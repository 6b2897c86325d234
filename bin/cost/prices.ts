interface Price {
  what: string;
  dollars: number;
  /** For so many of them. */
  per: number;
  source: string;
}

/**
 * AWS's public on-demand prices in dollars, without free tiers, discounts by volume and taxes. Written down from what is
 * commonly known, not looked up: check each at its source before you count on it. Another Region has other prices.
 */
export const priceList = { region: 'us-east-1', knownIn: '2025' } as const;

const source = (path: string) => `https://aws.amazon.com/${path}/pricing/`;

export const prices = {
  gatewayRequest: { what: 'API Gateway REST request', dollars: 3.5, per: 1e6, source: source('api-gateway') },
  invocation: { what: 'Lambda invocation', dollars: 0.2, per: 1e6, source: source('lambda') },
  gigabyteSecond: {
    what: 'Lambda GB-second, arm64',
    dollars: 0.0000133334,
    per: 1,
    source: source('lambda'),
  },
  readUnit: { what: 'DynamoDB read unit, on demand', dollars: 0.125, per: 1e6, source: source('dynamodb') },
  writeUnit: { what: 'DynamoDB write unit, on demand', dollars: 0.625, per: 1e6, source: source('dynamodb') },
  objectWrite: { what: 'S3 PUT or POST', dollars: 0.005, per: 1000, source: source('s3') },
  objectRead: { what: 'S3 GET', dollars: 0.0004, per: 1000, source: source('s3') },
  queueRequest: { what: 'SQS request, standard queue', dollars: 0.4, per: 1e6, source: source('sqs') },
  /** Fair queues: what is paid besides for messages with a group. */
  fairRequest: { what: 'SQS request with a group', dollars: 0.5, per: 1e6, source: source('sqs') },
  transition: {
    what: 'Step Functions state transition',
    dollars: 0.025,
    per: 1000,
    source: source('step-functions'),
  },
  keyRequest: { what: 'KMS request', dollars: 0.03, per: 10_000, source: source('kms') },
  secretRequest: {
    what: 'Secrets Manager request',
    dollars: 0.05,
    per: 10_000,
    source: source('secrets-manager'),
  },
  logGigabyte: { what: 'CloudWatch Logs, GB taken in', dollars: 0.5, per: 1, source: source('cloudwatch') },
  trace: { what: 'X-Ray trace', dollars: 5, per: 1e6, source: source('xray') },
  frontRequest: {
    what: 'CloudFront request, HTTPS',
    dollars: 0.01,
    per: 10_000,
    source: source('cloudfront'),
  },
  frontGigabyte: {
    what: 'CloudFront, GB to clients',
    dollars: 0.085,
    per: 1,
    source: source('cloudfront'),
  },
  tableGigabyte: { what: 'DynamoDB, GB kept a month', dollars: 0.25, per: 1, source: source('dynamodb') },
  recoveryGigabyte: {
    what: 'DynamoDB, GB that can be recovered, a month',
    dollars: 0.2,
    per: 1,
    source: source('dynamodb'),
  },
  metric: {
    what: 'CloudWatch metric of functions, a month',
    dollars: 0.3,
    per: 1,
    source: source('cloudwatch'),
  },
  alarmMetric: {
    what: 'CloudWatch alarm, each metric of it, a month',
    dollars: 0.1,
    per: 1,
    source: source('cloudwatch'),
  },
  dashboard: { what: 'CloudWatch dashboard, a month', dollars: 3, per: 1, source: source('cloudwatch') },
  key: { what: 'KMS key, a month', dollars: 1, per: 1, source: source('kms') },
  secret: { what: 'secret, a month', dollars: 0.4, per: 1, source: source('secrets-manager') },
} as const satisfies Record<string, Price>;

export type PriceName = keyof typeof prices;

export const priceOf = (name: PriceName): number => prices[name].dollars / prices[name].per;
