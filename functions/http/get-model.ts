import { modelNotFound } from '#contract/openai/error.ts';
import { route } from '#contract/routes/get-model.ts';
import { checkOpenAi } from '#domain/completions/check-open-ai.ts';
import { findModel, modelResource } from '#domain/completions/find-model.ts';
import { agents, workspaces } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { openAiForm } from '#runtime/http/openai-form.ts';

const services = { workspaces: workspaces() };
const findServices = { agents: agents() };

export const handler = lambdaRoute(
  route,
  async ({ workspaceId, parameters: { model } }) => {
    await checkOpenAi(services, workspaceId);
    const agent = await findModel(findServices, workspaceId, model);
    if (agent === undefined) throw modelNotFound(model);
    return { data: modelResource(agent) };
  },
  { form: openAiForm },
);
