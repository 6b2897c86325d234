import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DynamoCall } from './dynamodb/dynamo-call.ts';
import type { EmulatorRoute } from './dynamodb/emulator-route.ts';
import type { AccessControl } from './iam/access-control.ts';
import type { FunctionPool } from './lambda/function-pool.ts';
import type { RunOptions } from './run-options.ts';
import type { RecordedCall } from './wire/recorded-call.ts';

/** What a resource kind is given by the run it belongs to. */
export interface RunContext {
  readonly options: RunOptions;
  readonly stackName: string;
  readonly region: string;
  readonly accountId: string;
  /** Replaces the intrinsics of a value; `logicalId` is named in errors. */
  resolve(value: unknown, logicalId: string): unknown;
  /** A name for the resource that is the same at every start. */
  nameOf(logicalId: string): string;
  /** The folder of the asset with this object key. */
  assetFolder(objectKey: string): string;
  /** What all kinds together tell this function. Complete once every kind is open. */
  environmentFor(functionLogicalId: string): Record<string, string>;
  /** Who may call what. Roles are known once every kind is open, all rules once every kind has begun. */
  readonly access: AccessControl;
  /** By ARN; filled when the functions begin, which is before whatever calls them. */
  readonly functions: Map<string, FunctionPool>;
  /** ARNs of functions, in the order in which requests of clients need them; filled when the gateway begins. */
  readonly awaitedByClients: string[];
  /** What answers for a host name that a distribution may name as its origin. */
  readonly origins: Map<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>>;
  /** Whether a distribution takes the run's own port. Known once every kind is open. */
  frontDoor: boolean;
  /** Addresses by service; the gateway's is the stage's, and so is `front`, through the distribution. */
  readonly endpoints: Record<string, string>;
  /** Called when somebody who is no function has written to a table, before the writer hears of it. */
  readonly onOperatorWrite: (() => void)[];
  /** How threads reach the DynamoDB engine without the wire; undefined when the wire is to see every call. */
  emulatorRoute: Omit<EmulatorRoute, 'rules'> | undefined;
  /** Resolved when requests may be answered; until then the gateway lets them wait. */
  readonly serving: PromiseWithResolvers<void>;
  readonly violations: string[];
  readonly dynamoCalls: DynamoCall[];
  readonly calls: RecordedCall[];
}
