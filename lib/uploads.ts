import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { uploadsPerEnvironment } from './concurrency.ts';
import { allOf, allow, type Need, nothing, reads, variable } from './needs.ts';
import type { Platform } from './platform.ts';
import { WebServer } from './web-server.ts';

export class Uploads extends Construct {
  readonly attach: Need;
  readonly server: WebServer | undefined;

  constructor(scope: Construct, id: string, platform: Platform) {
    super(scope, id);
    platform.routes('FileAndDeletion')(
      'upload-file',
      platform.data([], { PutItem: ['files'], UpdateItem: ['rateBuckets', 'usage'] }),
      // No AbortMultipartUpload: a file that comes through the gateway is smaller than one part.
      platform.files('GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject'),
      platform.usage,
    );
    // The function parses hostile files, so it has no permissions for data: its callers sign the addresses of the file
    // and the results.
    const preparer = platform.task('prepare-attachment', {
      description: 'Reads an uploaded file for models',
      // Large files may take most of this time with a whole processor, which a function has from 1,769 MB on.
      timeoutSeconds: 60,
      memoryMegabytes: 2048,
      group: 'FileAndDeletion',
      throttlesUnseen: true,
    });
    const { functionArn } = preparer.aliasByName;
    this.attach = allOf(
      platform.files('GetObject', 'ListBucket'),
      allow(['lambda:InvokeFunction'], functionArn),
      variable('prepareAttachmentFunction', functionArn),
    );
    this.server = platform.settings.webFunctions === 'none' ? undefined : this.createServer(platform);
  }

  private createServer(platform: Platform): WebServer {
    const { settings } = platform;
    return new WebServer(this, 'Default', {
      function: 'receive-uploads',
      platform,
      needs: [
        platform.data(reads, {
          PutItem: ['files', 'slotReports'],
          UpdateItem: ['apiKeys', 'rateBuckets', 'usage'],
        }),
        platform.files('GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject', 'AbortMultipartUpload'),
        platform.trust.checksOrigin,
        platform.stageLimits,
        platform.pools,
        platform.usage,
        settings.corsOrigins.length > 0 ? variable('handlesPreflights', 'true') : nothing,
      ],
      // At half a megabit a second, a file of 50 MB arrives in time.
      timeout: Duration.minutes(15),
      requestsPerEnvironment: uploadsPerEnvironment(settings),
      publicReason: "Every caller must send the origin's secret and an API key.",
    });
  }
}
