import { describe, expect, it } from 'vitest';
import { ReplyBudget, type RunningTool } from '#domain/chats/agent-runtime.ts';

const budgetOf = (changes: Partial<ReplyBudget['limits']>) =>
  new ReplyBudget({ modelCalls: 3, toolUses: 10, toolsAtOnce: 2, replyBytes: 100, ...changes });
const started = (tool: ReturnType<ReplyBudget['startTool']>): RunningTool => {
  if (typeof tool === 'string') throw new Error(`The limit ${tool} was reached`);
  return tool;
};

describe('calls of models', () => {
  it('that are reserved are left for their agents alone', () => {
    const budget = budgetOf({ modelCalls: 3 });
    const reserved = budget.reserveModelCall();
    expect([1, 2, 3].map(() => budget.takeModelCall())).toEqual([true, true, false]);
    reserved?.take();
    expect(budget.takeModelCall()).toBe(false);
  });

  it('that are reserved and not used return to the budget, once', () => {
    const budget = budgetOf({ modelCalls: 2 });
    const reserved = budget.reserveModelCall();
    reserved?.release();
    reserved?.release();
    expect([1, 2, 3].map(() => budget.takeModelCall())).toEqual([true, true, false]);
  });

  it('that were reserved and used do not return', () => {
    const budget = budgetOf({ modelCalls: 2 });
    const reserved = budget.reserveModelCall();
    reserved?.take();
    reserved?.release();
    expect([1, 2].map(() => budget.takeModelCall())).toEqual([true, false]);
  });

  it('cannot be reserved when only reserved calls are left', () => {
    const budget = budgetOf({ modelCalls: 3 });
    budget.takeModelCall();
    expect([1, 2, 3].map(() => budget.reserveModelCall() !== undefined)).toEqual([true, true, false]);
  });
});

it('tools that were rejected are not counted as uses', () => {
  const budget = budgetOf({ toolsAtOnce: 1, toolUses: 2 });
  const first = started(budget.startTool(undefined));
  for (let attempt = 1; attempt <= 5; attempt += 1) expect(budget.startTool(undefined)).toBe('toolsAtOnce');
  first.end();
  started(budget.startTool(undefined)).end();
  expect(budget.startTool(undefined)).toBe('toolUses');
});
