import type { RunContext } from '../run-context.ts';

/** What Lambda, and the run, tell a function besides the template's own variables. */
export function functionEnvironment(
  context: RunContext,
  {
    logicalId,
    functionName,
    taskRoot,
    runtime,
  }: Record<'logicalId' | 'functionName' | 'taskRoot' | 'runtime', string>,
): Record<string, string> {
  return {
    AWS_DEFAULT_REGION: context.region,
    AWS_EXECUTION_ENV: `AWS_Lambda_${runtime}`,
    AWS_LAMBDA_FUNCTION_NAME: functionName,
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_REGION: context.region,
    LAMBDA_TASK_ROOT: taskRoot,
    TZ: ':UTC',
    // The one key pair that s3rver knows; no other engine looks at it.
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
    // Goes with every signed call, so an engine can tell who makes it.
    AWS_SESSION_TOKEN: functionName,
    ...context.environmentFor(logicalId),
    ...context.options.environment,
  };
}
