import type { RouteName } from '#contract/routes.ts';

/**
 * The routes that the web function `serve-chats` or four Lambda functions serve behind the gateway.
 * docs/decisions/014-shared-environments.md says why these.
 */
export const chatRoutes = ['send-message', 'create-chat', 'resume-stream', 'complete-chat'] as const;

export const isChatRoute = (name: string): name is (typeof chatRoutes)[number] & RouteName =>
  chatRoutes.some((route) => route === name);

/** lib/settings/access.ts describes both settings. */
export interface EntryPointSettings {
  readonly webFunctions: 'all' | 'uploads' | 'none';
  readonly bothEntryPoints: boolean;
}

/**
 * Returns the entry points with which a stage serves `chatRoutes`. Both are for the change from one to the other: the
 * gateway calls the one of `webFunctions`, and the other one completes its running replies.
 */
export const entryPointsOfChats = ({ webFunctions, bothEntryPoints }: EntryPointSettings) => ({
  webFunction: webFunctions === 'all' || bothEntryPoints,
  functions: webFunctions !== 'all' || bothEntryPoints,
});
