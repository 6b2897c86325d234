/** How a deployment shifts traffic to new code. All but `AllAtOnce` are CodeDeploy's configurations. */
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
