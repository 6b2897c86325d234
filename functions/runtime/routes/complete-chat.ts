import type * as z from 'zod';
import { imageInspector } from '#adapters/images/image-structure.ts';
import { describeIssues } from '#contract/describe-issues.ts';
import {
  type ChatCompletionRequest,
  chatCompletionRequest,
  invalidParameter,
  mostParts,
  OpenAiError,
} from '#contract/openai.ts';
import { completeChatRoute } from '#contract/routes/openai.ts';
import { isFailedByModel, ReplyAborted, stopped } from '#domain/chats/collect-reply.ts';
import {
  completionChunks,
  completionHead,
  completionResource,
  isAbandoned,
  outcomeOf,
} from '#domain/completions/completion.ts';
import { checkOpenAi, startCompletion } from '#domain/completions/start-completion.ts';
import { combinedUsage, countUsage } from '#domain/workspaces/count-usage.ts';
import { agentRuntime, clock, replyServices, usage } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { eventStreamHeaders } from '#runtime/http/event-stream.ts';
import { type CompletionStream, openAiForm, openCompletionStream } from '#runtime/http/openai-form.ts';
import { checkUsers } from '#runtime/http/request.ts';
import { serveRoute, timeForModel } from '#runtime/http/serve-route.ts';
import { abortOnShutdown, isOnlyRequest } from '#runtime/http/web-server.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { timeReply } from '#runtime/observability/meter.ts';

const services = {
  ...replyServices(),
  agentRuntime: agentRuntime(),
  imageInspector,
  usage: combinedUsage(usage(), clock, isOnlyRequest),
};

export const serve = serveRoute(
  completeChatRoute,
  async (request, { open, remainingMilliseconds, awaitRateLimit, charge, finishAfterResponse, onGone }) => {
    const timer = timeReply(completeChatRoute.name, performance.now());
    const gone = new AbortController();
    onGone(() => gone.abort());
    const { workspaceId, apiKeyId, requestId } = request;
    const body = await readBody(workspaceId, request.body);
    const isStreamed = body.stream === true;
    const { agent, tool, running } = await startCompletion(services, workspaceId, body, {
      awaitRateLimit,
      deadline: () => timeForModel(completeChatRoute, isStreamed, remainingMilliseconds()),
    });
    // Nobody can read the reply later.
    const abandon = () => running.stop.abort(new ReplyAborted('stopped-by-client', stopped));
    if (gone.signal.aborted) abandon();
    gone.signal.addEventListener('abort', abandon);
    const stopWatching = abortOnShutdown(running.stop);
    const head = completionHead(agent, identifiers.uuid(), clock.now());
    const stream: CompletionStream | undefined = isStreamed
      ? openCompletionStream({
          open: () => open(eventStreamHeaders),
          chunks: completionChunks(head, { includesUsage: body.stream_options?.include_usage, tool }),
          ...{ clock, requestId, onSlowReader: abandon },
        })
      : undefined;
    running.forwardTo(timer.listening((event) => stream?.emit(event)));
    const collected = await running.completed.finally(stopWatching);
    charge({ modelCalls: running.budget.furtherModelCalls });
    const outcome = outcomeOf(collected);
    const isFailed = outcome instanceof OpenAiError && !isAbandoned(collected);
    timer.ended({ error: isFailed ? outcome : null });
    const { calls } = collected.reply;
    const counts = { turns: 1, failedTurns: isFailed ? 1 : 0 };
    const owner = { workspaceId, apiKeyId, agentId: agent.agentId };
    finishAfterResponse(countUsage(services, { ...owner, counts, calls }));
    if (gone.signal.aborted) return stream?.drop();
    if (isFailed) countFailure(outcome, isFailedByModel(collected), stream?.isOpen() === true);
    if (stream !== undefined) return stream.end(outcome, collected.reply.usage);
    if (outcome instanceof OpenAiError) throw outcome;
    open().write(JSON.stringify(completionResource(head, collected.reply, outcome, tool)));
  },
  { form: openAiForm },
);

/** The status of an open stream is 200, so the gateway does not count its failure. */
function countFailure({ status }: OpenAiError, byModel: boolean, isInStream: boolean): void {
  if (isInStream && !byModel) measurements.add('streamedFaults', 1, {});
  if (!isInStream && byModel && status >= 500) measurements.add('modelErrorResponses', 1, {});
}

/** @throws for a wrong parameter: the errors of `checkCaller`, else OpenAiError whose `param` names it */
async function readBody(workspaceId: string, body: Record<string, unknown>): Promise<ChatCompletionRequest> {
  if (partsOf(body.messages) > mostParts) {
    await checkCaller(workspaceId, body);
    throw invalidParameter('messages', `must have at most ${mostParts} messages and parts together`);
  }
  const parsed = chatCompletionRequest.safeParse(body, { reportInput: true });
  if (parsed.success) return parsed.data;
  await checkCaller(workspaceId, body);
  const issues = parsed.error.issues.flatMap(issuesOfParts);
  const [param] = describeIssues(issues.slice(0, 1)).split(' ');
  throw new OpenAiError('badRequest', describeIssues(issues), { param: param ?? '' });
}

async function checkCaller(workspaceId: string, body: Record<string, unknown>): Promise<void> {
  await checkOpenAi(services, workspaceId);
  await checkUsers(workspaceId, [body.user]);
}

function partsOf(messages: unknown): number {
  if (!Array.isArray(messages)) return 0;
  let count = messages.length;
  for (const message of messages) if (Array.isArray(message?.content)) count += message.content.length;
  return count;
}

/** The issues of the parts are more exact than one issue of the whole list. */
function issuesOfParts(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || !Array.isArray(issue.input)) return [issue];
  const inner = issue.errors.flat().filter(({ path }) => path.length > 0);
  return inner.length === 0
    ? [issue]
    : inner.map((each) => ({ ...each, path: [...issue.path, ...each.path] }));
}
