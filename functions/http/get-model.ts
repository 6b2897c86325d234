import { modelNotFound } from '#contract/openai/error.ts';
import { route } from '#contract/routes/get-model.ts';
import { checkOpenAi } from '#domain/completions/check-open-ai.ts';
import { findModel, modelResource } from '#domain/completions/find-model.ts';
import { agents, workspaces } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { openAiForm } from '#runtime/http/openai-form.ts';

const check = checkOpenAi({ workspaces: workspaces() });
const find = findModel({ agents: agents() });

export const handler = lambdaRoute(
  route,
  async ({ workspaceId, parameters: { model } }) => {
    await check(workspaceId);
    const agent = await find(workspaceId, model);
    if (agent === undefined) throw modelNotFound(model);
    return { data: modelResource(agent) };
  },
  { form: openAiForm },
);
