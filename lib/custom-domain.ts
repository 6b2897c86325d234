import {
  AaaaRecord,
  ARecord,
  HostedZone,
  type IAliasRecordTarget,
  type IHostedZone,
  RecordTarget,
} from 'aws-cdk-lib/aws-route53';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

export type CustomDomain = NonNullable<Settings['domain']>;

export function pointDomain(
  scope: Construct,
  { name, hostedZone }: CustomDomain,
  target: IAliasRecordTarget,
  options: { ipv6: boolean },
): void {
  if (hostedZone === undefined) return;
  const zone: IHostedZone = HostedZone.fromHostedZoneAttributes(scope, 'Zone', {
    hostedZoneId: hostedZone.id,
    zoneName: hostedZone.name,
  });
  // The final dot makes the name absolute.
  const record = { zone, recordName: `${name}.`, target: RecordTarget.fromAlias(target) };
  new ARecord(scope, 'Address', record);
  if (options.ipv6) new AaaaRecord(scope, 'AddressV6', record);
}
