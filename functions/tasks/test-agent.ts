import { agentTestRequest } from '#contract/agent.ts';
import { describeIssues } from '#contract/describe-issues.ts';
import { ServiceError } from '#contract/errors.ts';
import { testAgent } from '#domain/chats/test-agent.ts';
import {
  agentRuntime,
  meter,
  rateLimits,
  replyServices,
  stageLimits,
  usage,
} from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = {
  ...replyServices(),
  agentRuntime: agentRuntime(),
  // A draft may name a wrong model. This is no outage of a model, so no alarm must report it.
  meter: { ...meter, modelFailed: () => undefined },
  rateLimits: rateLimits(),
  stageLimits: stageLimits(),
  usage: usage(),
};

/** Has no route: operators invoke it. */
export const handler = observed(async (event: unknown) => {
  const parsed = agentTestRequest.safeParse(event, { reportInput: true });
  if (!parsed.success)
    throw new ServiceError('badRequest', describeIssues(parsed.error.issues, 'The payload'));
  return testAgent(services, parsed.data);
});
