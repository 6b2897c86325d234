import { once } from 'node:events';
import { route } from '#contract/routes/list-models.ts';
import { checkOpenAi } from '#domain/completions/check-open-ai.ts';
import { modelResource } from '#domain/completions/find-model.ts';
import { agents, workspaces } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { openAiForm } from '#runtime/http/openai-form.ts';

const check = checkOpenAi({ workspaces: workspaces() });

/** All models: OpenAI's list has no pages. */
async function* listOf(workspaceId: string): AsyncGenerator<string> {
  let separator = '{"object":"list","data":[';
  for await (const page of agents().listPublished(workspaceId))
    for (const agent of page) {
      yield separator + JSON.stringify(modelResource(agent));
      separator = ',';
    }
  yield separator === ',' ? ']}' : `${separator}]}`;
}

export const handler = lambdaRoute(
  route,
  async ({ workspaceId }, { open, awaitRateLimit }) => {
    // A list may cost a hundred times the check of its limit.
    await awaitRateLimit();
    await check(workspaceId);
    const texts = listOf(workspaceId);
    // The first text is read before the status is sent, so that an error until then gets its own status.
    let text = await texts.next();
    const stream = open();
    for (; text.done !== true; text = await texts.next())
      if (!stream.write(text.value)) await once(stream, 'drain');
  },
  { form: openAiForm },
);
