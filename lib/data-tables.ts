import { AttributeType, type ITableV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';

/**
 * The data table. Capacity is on demand, because chats come in bursts. DynamoDB encrypts it with its own key. A restored
 * table takes its place, and is not a resource of the stack: CloudFormation cannot give `DataTable` another name.
 */
export class DataTables extends Construct {
  readonly data: ITableV2;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.data =
      settings.restoredTable === undefined
        ? this.createTable(settings)
        : TableV2.fromTableName(this, 'Restored', settings.restoredTable);
  }

  private createTable(settings: Settings): ITableV2 {
    const table = new TableV2(this, 'Data', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
      timeToLiveAttribute: 'ttl',
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: settings.production,
      removalPolicy: removalPolicyOf(settings),
    });
    pinLogicalId(table, 'DataTable');
    // The types of the library's optional members do not fit exactOptionalPropertyTypes.
    return table as ITableV2;
  }
}
