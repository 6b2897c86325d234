import * as z from 'zod';
import type { AgentTool } from './agent-tool.ts';

const field = z.object({
  name: z.string().min(1).max(64).describe('Key of the answer, such as email'),
  label: z.string().min(1).max(256),
  type: z.enum(['text', 'textarea', 'number', 'date', 'email', 'boolean', 'select', 'multiselect']),
  required: z.boolean().default(false),
  options: z.array(z.string().min(1).max(256)).max(100).optional().describe('Of select and multiselect'),
});

const form = z.object({
  title: z.string().min(1).max(256),
  description: z.string().max(2048).optional(),
  fields: z.array(field).min(1).max(50),
});

/** If the config contains a form, the tool always shows that form. Otherwise the model composes one. */
const config = z.strictObject({ form: form.optional() });
const nothing = z.object({});

type Config = z.output<typeof config>;
type Input = z.output<typeof form> | z.output<typeof nothing>;

/**
 * Asks the user to fill in a form. The client receives the form as the step's `args`; the next message responds to it.
 */
export const requestForm: AgentTool<Config, Input> = {
  type: 'consultant_request_form',
  description:
    'Show the user a form, when you need several particulars from them. Their next message holds the answers.',
  config,
  input: (settings) => (settings.form === undefined ? form : nothing),
  start: (input, settings) => {
    const shown = settings.form ?? (input as z.output<typeof form>);
    return { content: `Asking for: ${shown.title}`, args: shown };
  },
  run: async () => ({
    data: {
      status: 'shown',
      note: 'The user sees the form and answers with the next message. End your reply with one short sentence that asks to fill it in.',
    },
  }),
  handsOver: true,
};
