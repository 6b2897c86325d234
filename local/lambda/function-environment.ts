import path from 'node:path';
import type { EmulatorRoute } from '../dynamodb/emulator-route/emulator-route.ts';
import type { RunContext } from '../run-context.ts';
import type { RunOptions } from '../run-options.ts';

/** The variables that Lambda and the run set, in addition to the template's. */
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
    // The emulators identify the role of a call by its access key.
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    // Sent with every signed call, so that recorded calls name the function.
    AWS_SESSION_TOKEN: functionName,
    ...context.environmentFor(logicalId),
    ...context.options.environment,
  };
}

/** How the threads of a function with this access key call the DynamoDB emulator. */
export function emulatorRouteFor(
  { access: { rules }, emulatorRoute }: RunContext,
  accessKeyId: string,
): EmulatorRoute | undefined {
  const sessions = new Map([...rules.sessions].filter(([key]) => key === accessKeyId));
  // The maps of `rules` are shared, because rules are still added to them. A thread gets a copy when it starts.
  return emulatorRoute && { ...emulatorRoute, rules: { ...rules, operator: undefined, sessions } };
}

/** The folder of the compiled code of functions. */
export const compileCacheOf = ({ compileCacheFolder, dataDir }: RunOptions): string =>
  compileCacheFolder ?? path.join(dataDir, 'compile-cache');
