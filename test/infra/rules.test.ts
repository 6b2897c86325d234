import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, test } from 'vitest';
import { createService, domain } from './synthesize.ts';

// app.test.ts looks at production with everything that settings can add.
test.each([
  [
    'production',
    {
      ...{ domain, firewall: {}, alarmEmails: ['someone@example.com'], webFunctions: 'none' },
      corsOrigins: ['https://a.example'],
    },
  ],
  ['development', {}],
])('%s with %j breaks no rule of cdk-nag that is not acknowledged', (stage, settings) => {
  const { app, stack } = createService({ stage, settings });
  expect(new AwsSolutionsChecks(app).validateScope(app).violations).toEqual([]);
  // A production stack cannot be deleted by mistake.
  expect(stack.terminationProtection).toBe(stage === 'production');
});

test('the rules are looked at: without its acknowledgements the stack breaks some', () => {
  const { app } = createService({ settings: {} });
  for (const construct of app.node.findAll()) Reflect.set(construct.node, '_metadata', []);
  const broken = new AwsSolutionsChecks(app).validateScope(app).violations.map(({ ruleName }) => ruleName);
  expect(broken).toEqual(expect.arrayContaining(['AwsSolutions-IAM5[Resource::*]', 'AwsSolutions-S1']));
});
