import type { ResourceKind } from '../template/resource-kind.ts';
import { rejectOthers } from '../template/template-resource.ts';
import { findFunction, invokedArn } from './find-function.ts';

interface PermissionProperties {
  readonly Action: string;
  readonly FunctionName: string;
  readonly Principal: string;
  readonly SourceArn?: string;
}

const SUPPORTED = ['Action', 'FunctionName', 'Principal', 'SourceArn'];

export const permissions: ResourceKind = {
  types: ['AWS::Lambda::Permission'],

  async open(resources, context) {
    return {
      ref: ({ logicalId }) => logicalId,
      attribute: () => undefined,
      async start() {
        for (const resource of resources) {
          const properties = context.read<PermissionProperties>(resource);
          rejectOthers(resource, properties, SUPPORTED);
          const { Action, FunctionName, Principal, SourceArn } = properties;
          const calledFunction = findFunction(context, FunctionName);
          // Some functions, such as those that only a deployment calls, do not run here.
          if (!calledFunction) continue;
          const arn = invokedArn(calledFunction, FunctionName);
          const Condition = SourceArn === undefined ? {} : { ArnLike: { 'aws:SourceArn': SourceArn } };
          const principal = principalOf(Principal);
          const Statement = { Effect: 'Allow', Action, Principal: principal, Resource: arn, Condition };
          context.access.attachPolicy(arn, { Statement }, resource.logicalId);
        }
      },
    };
  },
};

function principalOf(principal: string): unknown {
  if (principal === '*') return '*';
  return principal.endsWith('.amazonaws.com') ? { Service: principal } : { AWS: principal };
}
