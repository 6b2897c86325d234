import type { Session } from '../iam/access-rules.ts';
import type { Definition } from './definition.ts';

export interface Machine {
  readonly arn: string;
  readonly name: string;
  readonly role: Session;
  readonly definition: Definition;
}
