import { OpenAiError } from '#contract/openai.ts';
import { openAiPath } from '#contract/routes/dialect.ts';
import { rejectOpenaiPathRoute } from '#contract/routes/openai.ts';
import { checkOpenAi } from '#domain/completions/start-completion.ts';
import { workspaces } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { openAiForm } from '#runtime/http/openai-form.ts';

const known = `there are GET ${openAiPath}/models, GET ${openAiPath}/models/{model} and POST ${openAiPath}/chat/completions`;
const useCompletions = `agents speak chat completions, so use POST ${openAiPath}/chat/completions`;

const services = { workspaces: workspaces() };

export const handler = lambdaRoute(
  rejectOpenaiPathRoute,
  async ({ workspaceId, parameters: { proxy } }) => {
    await checkOpenAi(services, workspaceId);
    const [first] = (proxy ?? '').replace(/^v1\//, '').split('/');
    throw new OpenAiError(
      'notFound',
      `Unknown path or method: ${first === 'responses' ? useCompletions : known}`,
      { code: 'unknown_url' },
    );
  },
  { form: openAiForm },
);
