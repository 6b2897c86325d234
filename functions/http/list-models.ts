import { listModelsRoute } from '#contract/routes/openai.ts';
import { checkOpenAi, modelResource } from '#domain/completions/start-completion.ts';
import { agents, workspaces } from '#runtime/composition/services.ts';
import { listRoute } from '#runtime/http/lambda-route.ts';
import { openAiForm } from '#runtime/http/openai-form.ts';

const services = { workspaces: workspaces() };

/** Sends all models: OpenAI's list has no pagination. */
export const handler = listRoute(
  listModelsRoute,
  async ({ workspaceId }) => {
    await checkOpenAi(services, workspaceId);
    return { pages: agents().listPublished(workspaceId), resourceOf: modelResource };
  },
  { form: openAiForm },
);
