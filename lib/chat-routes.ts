import type { RouteName } from '#contract/routes.ts';

/** docs/decisions/014-shared-environments.md says why these routes. */
export const chatRoutes = ['send-message', 'create-chat', 'resume-stream', 'complete-chat'] as const;

export const isChatRoute = (name: string): name is (typeof chatRoutes)[number] & RouteName =>
  chatRoutes.some((route) => route === name);

export interface EntryPointSettings {
  readonly webFunctions: 'all' | 'uploads' | 'none';
  readonly bothEntryPoints: boolean;
}

/**
 * With both entry points, the gateway calls the one that `webFunctions` selects, and the other one completes its
 * running replies.
 */
export const entryPointsOfChats = ({ webFunctions, bothEntryPoints }: EntryPointSettings) => ({
  webFunction: webFunctions === 'all' || bothEntryPoints,
  functions: webFunctions !== 'all' || bothEntryPoints,
});
