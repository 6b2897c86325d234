/**
 * Every key of the data table. Each partition key starts with its workspace, but for the API key's hash and for the
 * operators' indexes, which no function reads.
 */
export interface Key {
  pk: string;
  sk: string;
}

/** Positions have at most 7 digits (2,097,151), so padded they sort as text. */
const padded = (position: number): string => String(position).padStart(7, '0');

const workspace = (workspaceId: string): string => `W#${workspaceId}`;
const chat = (workspaceId: string, chatId: number): string => `W#${workspaceId}#C#${chatId}`;

/** The chats of a workspace, in ascending ids, that have an agent, a user, or both. */
export type ChatListKind = { agentId?: string | undefined; externalUserId?: string | undefined };

const chatList = (workspaceId: string, { agentId, externalUserId }: ChatListKind): string =>
  `${workspace(workspaceId)}#LIST#${agentId ?? ''}#${externalUserId ?? ''}`;

export const keys = {
  apiKey: (hash: string): Key => ({ pk: `KEY#${hash}`, sk: 'KEY' }),
  apiKeyOfWorkspace: (workspaceId: string, keyId: string): Key => ({
    pk: `${workspace(workspaceId)}#KEYS`,
    sk: keyId,
  }),
  workspace: (workspaceId: string): Key => ({ pk: workspace(workspaceId), sk: 'WORKSPACE' }),
  whitelistEntry: (workspaceId: string, externalUserId: string): Key => ({
    pk: `${workspace(workspaceId)}#WHITELIST`,
    sk: externalUserId,
  }),
  agent: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENTS`,
    sk: `DRAFT#${agentId}`,
  }),
  /** The version that answers, read by every send: in a partition of its agent's own. */
  publishedAgent: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENT#${agentId}`,
    sk: 'PUBLISHED',
  }),
  /** That an agent is published: for the list. */
  publishedMark: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENTS`,
    sk: `PUBLISHED#${agentId}`,
  }),
  agentVersion: (workspaceId: string, agentId: string, version: number): Key => ({
    pk: `${workspace(workspaceId)}#AGENT#${agentId}`,
    sk: `VERSION#${padded(version)}`,
  }),
  /** How many chats the workspace has: the newest chat's id. */
  chatCount: (workspaceId: string): Key => ({ pk: workspace(workspaceId), sk: 'CHATS' }),
  chat: (workspaceId: string, chatId: number): Key => ({ pk: chat(workspaceId, chatId), sk: 'CHAT' }),
  /** Count and newest ids of a list of chats. */
  chatListHead: (workspaceId: string, list: ChatListKind): Key => ({
    pk: chatList(workspaceId, list),
    sk: 'HEAD',
  }),
  /** The ids at the places 100 × chunk and after. */
  chatListChunk: (workspaceId: string, list: ChatListKind, chunk: number): Key => ({
    pk: chatList(workspaceId, list),
    sk: `CHUNK#${chunk}`,
  }),
  message: (workspaceId: string, chatId: number, position: number): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `M#${padded(position)}`,
  }),
  /** Sorts right behind its message, so that one range holds both. */
  feedbackCounts: (workspaceId: string, chatId: number, position: number): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `M#${padded(position)}#FEEDBACK`,
  }),
  feedback: (workspaceId: string, chatId: number, position: number, externalUserId: string): Key => ({
    // The user alone: 256 characters of four bytes are all that a sort key holds.
    pk: `${chat(workspaceId, chatId)}#F#${position}`,
    sk: externalUserId,
  }),
  file: (workspaceId: string, uuid: string): Key => ({
    pk: `${workspace(workspaceId)}#FILE#${uuid}`,
    sk: 'FILE',
  }),
  operatorsWorkspace: (workspaceId: string): Key => ({ pk: 'OPERATOR#WORKSPACES', sk: workspaceId }),
  operatorsAgent: (agentId: string): Key => ({ pk: `OPERATOR#AGENT#${agentId}`, sk: 'AGENT' }),
  operatorsApiKey: (keyId: string): Key => ({ pk: `OPERATOR#KEY#${keyId}`, sk: 'KEY' }),
} as const;
