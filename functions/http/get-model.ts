import { modelNotFound } from '#contract/openai.ts';
import { getModelRoute } from '#contract/routes/openai.ts';
import { checkOpenAi, findModel, modelResource } from '#domain/completions/start-completion.ts';
import { agents, workspaces } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { openAiForm } from '#runtime/http/openai-form.ts';

const services = { agents: agents(), workspaces: workspaces() };

export const handler = lambdaRoute(
  getModelRoute,
  async ({ workspaceId, parameters: { model } }) => {
    await checkOpenAi(services, workspaceId);
    const agent = await findModel(services, workspaceId, model);
    if (agent === undefined) throw modelNotFound(model);
    return { data: modelResource(agent) };
  },
  { form: openAiForm },
);
