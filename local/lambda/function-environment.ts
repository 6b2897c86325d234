import path from 'node:path';
import type { EmulatorRoute } from '../dynamodb/emulator-route/emulator-route.ts';
import type { RunContext } from '../run-context.ts';

interface FunctionSource {
  readonly logicalId: string;
  readonly functionName: string;
  readonly taskRoot: string;
  readonly runtime: string;
  readonly roleArn: string | undefined;
  /** Variables of Lambda and of the run override these. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** @throws Error if the function cannot assume the role */
export function threadEnvironment(
  context: RunContext,
  { logicalId, functionName, taskRoot, runtime, roleArn = '', variables }: FunctionSource,
) {
  const { access, options, region } = context;
  const { accessKeyId, secretAccessKey } = access.assume({
    roleArn,
    service: 'lambda.amazonaws.com',
    sessionName: functionName,
  });
  const environment: Record<string, string> = {
    ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, String(value)])),
    AWS_DEFAULT_REGION: region,
    AWS_EXECUTION_ENV: `AWS_Lambda_${runtime}`,
    AWS_LAMBDA_FUNCTION_NAME: functionName,
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_REGION: region,
    LAMBDA_TASK_ROOT: taskRoot,
    TZ: ':UTC',
    // The emulators identify the role of a call by its access key.
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    // Sent with signed calls: it tells dynamodb/serve-wire.ts and wire/record-calls.ts which function calls.
    AWS_SESSION_TOKEN: functionName,
    ...context.environmentFor(logicalId),
    ...options.environment,
  };
  return {
    logicalId,
    functionName,
    environment,
    compileCacheFolder: compileCacheOf(options),
    hasLogListener: options.onLog !== undefined,
    emulatorRoute: emulatorRouteFor(context, accessKeyId),
  };
}

export const compileCacheOf = ({ compileCacheFolder, dataDir }: RunContext['options']): string =>
  compileCacheFolder ?? path.join(dataDir, 'compile-cache');

function emulatorRouteFor(
  { access: { rules }, emulatorRoute }: RunContext,
  accessKeyId: string,
): EmulatorRoute | undefined {
  const sessions = new Map([...rules.sessions].filter(([key]) => key === accessKeyId));
  // `resourcePolicies` and `encryptionKeys` are not copied here, because entries are still added. A thread gets a copy
  // when it starts.
  return emulatorRoute && { ...emulatorRoute, rules: { ...rules, operator: undefined, sessions } };
}
