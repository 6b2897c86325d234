import { awsTime } from '#local/dynamodb/aws-time.ts';

/** The latencies of DynamoDB in AWS times a factor. With 10, this machine's processor is no limit. */
export const slowerAwsTime = (factor: number): typeof awsTime => {
  const { read, write, transaction } = awsTime.latency;
  return {
    ...awsTime,
    latency: { read: read * factor, write: write * factor, transaction: transaction * factor },
  };
};
