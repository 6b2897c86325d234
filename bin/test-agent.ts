import process from 'node:process';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { AgentTest, AgentTestRequest } from '#contract/agent.ts';
import { clientTimeouts } from '#runtime/environment/environment.ts';
import { variables } from '#runtime/environment/variables.ts';

/** Milliseconds. The timeout of the function is 330 s. */
const requestTimeout = 340_000;

/** @throws Error if the stack has no function for tests, or if its call fails. A reply's error is in the result. */
export async function testAgent(request: AgentTestRequest): Promise<AgentTest> {
  const FunctionName = process.env[variables.testAgentFunction];
  if (FunctionName === undefined)
    throw new Error('The stack has no output TestAgentFunctionArn: deploy this version first');
  // Only one attempt: each attempt may call the model, which costs money.
  const client = new LambdaClient({ maxAttempts: 1, requestHandler: { ...clientTimeouts, requestTimeout } });
  const { FunctionError, Payload = new Uint8Array() } = await client
    .send(new InvokeCommand({ FunctionName, Payload: JSON.stringify(request) }))
    .finally(() => client.destroy());
  const response = JSON.parse(Buffer.from(Payload).toString());
  if (FunctionError === undefined) return response as AgentTest;
  const { errorType, errorMessage } = response as { errorType?: string; errorMessage?: string };
  throw new Error(errorType === 'ServiceError' ? errorMessage : `The test has failed: ${errorMessage}`);
}
