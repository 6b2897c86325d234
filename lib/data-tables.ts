import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';

/** The data table. Capacity is on demand, because chats come in bursts. DynamoDB encrypts it with its own key. */
export class DataTables extends Construct {
  readonly data: TableV2;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.data = new TableV2(this, 'Data', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
      timeToLiveAttribute: 'ttl',
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: settings.production,
      removalPolicy: removalPolicyOf(settings),
    });
    pinLogicalId(this.data, 'DataTable');
  }
}
