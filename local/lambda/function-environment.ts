import type { RunContext } from '../run-context.ts';

/** What Lambda, and the run, tell a function besides the template's own variables. */
export function functionEnvironment(
  context: RunContext,
  {
    logicalId,
    functionName,
    taskRoot,
    runtime,
    roleArn,
  }: Record<'logicalId' | 'functionName' | 'taskRoot' | 'runtime' | 'roleArn', string>,
): Record<string, string> {
  const { accessKeyId, secretAccessKey } = context.access.assume({
    roleArn,
    service: 'lambda.amazonaws.com',
    sessionName: functionName,
  });
  return {
    AWS_DEFAULT_REGION: context.region,
    AWS_EXECUTION_ENV: `AWS_Lambda_${runtime}`,
    AWS_LAMBDA_FUNCTION_NAME: functionName,
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_REGION: context.region,
    LAMBDA_TASK_ROOT: taskRoot,
    TZ: ':UTC',
    // By the access key the engines know whose role a call is made with.
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    // Goes with every signed call, so that records can name the function.
    AWS_SESSION_TOKEN: functionName,
    ...context.environmentFor(logicalId),
    ...context.options.environment,
  };
}
