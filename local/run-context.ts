import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EmulatorRoute } from './dynamodb/emulator-route/emulator-route.ts';
import type { AccessControl } from './iam/access-control.ts';
import type { FunctionPool } from './lambda/function-pool.ts';
import type { WebFunctionServer } from './lambda/web-function-server.ts';
import type { DynamoCall, RecordedCall, RunOptions } from './run-options.ts';
import type { TemplateResource } from './template/template-resource.ts';

export interface RunContext {
  readonly options: RunOptions;
  readonly stackName: string;
  readonly region: string;
  readonly accountId: string;
  /** Replaces the intrinsic functions of a value by their results. `logicalId` is for error messages. */
  resolve(value: unknown, logicalId: string): unknown;
  read<Properties>(resource: Omit<TemplateResource, 'type'>): Properties;
  /** The value of the property, or else a name that is the same at every start. */
  nameOf(resource: Omit<TemplateResource, 'type'>, property?: string): string;
  arnOf(service: string, resource: string): string;
  assetFolder(objectKey: string): string;
  /** The variables that all resource kinds set for this function. Complete after every kind has opened. */
  environmentFor(functionLogicalId: string): Record<string, string>;
  /** Roles are known after every kind has opened, policies of resources after every kind has started. */
  readonly access: AccessControl;
  /** By ARN: without a qualifier, except for functions of other stacks. Filled when the functions start. */
  readonly functions: Map<string, FunctionPool>;
  /** By the domain name of the endpoint. Filled when the web functions start. */
  readonly webFunctions: Map<string, WebFunctionServer>;
  readonly authorizers: Set<string>;
  readonly integratedDomains: Set<string>;
  readonly origins: Map<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>>;
  /** Whether a distribution gets the run's port. Known after every resource kind has opened. */
  hasDistribution: boolean;
  /** URLs by service. `gateway` is the stage's URL; `front` is the distribution's URL, with the path of the stage. */
  readonly endpoints: Record<string, string>;
  /** Called after a DynamoDB call that is none of `READS` (dynamodb/inspect-calls.ts) and not from a function. */
  readonly onOperatorWrite: (() => void)[];
  /** Undefined without an embedded DynamoDB emulator, and in a run that records calls or has faults. */
  emulatorRoute: Omit<EmulatorRoute, 'rules'> | undefined;
  /** Until it is resolved, the gateway lets requests wait. */
  readonly serving: PromiseWithResolvers<void>;
  readonly violations: string[];
  readonly dynamoCalls: DynamoCall[];
  readonly calls: RecordedCall[];
}
