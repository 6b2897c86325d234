const statement = (...actions: string[]) => ({
  Statement: [{ Effect: 'Allow', Action: actions, Resource: '*' }],
});

const logs = ['logs:CreateLogGroup', 'logs:CreateLogStream', 'logs:PutLogEvents'];

export const managedPolicies: Readonly<Record<string, object>> = {
  'service-role/AWSLambdaBasicExecutionRole': statement(...logs),
  'service-role/AWSLambdaSQSQueueExecutionRole': statement(
    'sqs:ReceiveMessage',
    'sqs:DeleteMessage',
    'sqs:GetQueueAttributes',
    ...logs,
  ),
  AWSXRayDaemonWriteAccess: statement(
    'xray:PutTraceSegments',
    'xray:PutTelemetryRecords',
    'xray:GetSamplingRules',
    'xray:GetSamplingTargets',
    'xray:GetSamplingStatisticSummaries',
  ),
};
