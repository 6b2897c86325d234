/** How new code takes over. The gradual ones are CodeDeploy's. */
export const rollouts = [
  'AllAtOnce',
  'Canary10Percent5Minutes',
  'Canary10Percent10Minutes',
  'Canary10Percent15Minutes',
  'Canary10Percent30Minutes',
  'Linear10PercentEvery1Minute',
  'Linear10PercentEvery2Minutes',
  'Linear10PercentEvery3Minutes',
  'Linear10PercentEvery10Minutes',
] as const;

export type RolloutName = (typeof rollouts)[number];
export type GradualRollout = Exclude<RolloutName, 'AllAtOnce'>;
