import { type ReplyUse, ToolFailure } from '../agent-tool.ts';

const placeholder = /\{\{(external_user_id|chat_id|workspace_id)\}\}/g;

/** @throws ToolFailure if the reply has no value for a placeholder: nothing may be sent then */
export function fillIn(
  text: string,
  { chat, agents: [{ workspaceId }] }: ReplyUse,
  encode: (value: string) => string = encodeURIComponent,
): string {
  const values = { external_user_id: chat?.externalUserId, chat_id: chat?.id, workspace_id: workspaceId };
  return text.replaceAll(placeholder, (_, name: keyof typeof values) => {
    const value = values[name] ?? undefined;
    if (value === undefined) throw new ToolFailure(`It needs the ${name} of a chat, and this reply has none`);
    return encode(String(value));
  });
}
