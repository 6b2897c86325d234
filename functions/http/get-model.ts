import { modelNotFound } from '#contract/openai/error.ts';
import { route } from '#contract/routes/get-model.ts';
import { findModel, modelResource } from '#domain/completions/find-model.ts';
import { agents } from '#runtime/composition/services.ts';
import { bufferedRoute } from '#runtime/http/buffered-route.ts';
import { openAiForm } from '#runtime/http/openai-form.ts';

const find = findModel({ agents: agents() });

export const handler = bufferedRoute(
  route,
  async ({ workspaceId, parameters: { model } }) => {
    const agent = await find(workspaceId, model);
    if (agent === undefined) throw modelNotFound(model);
    return { data: modelResource(agent) };
  },
  { form: openAiForm },
);
