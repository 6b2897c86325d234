import type { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';

/**
 * Longer than the 60 s that the function has to prepare a file, and than its caller waits for a place to run (two
 * attempts of 70 s).
 */
const seconds = 5 * 60;

/** Takes no call: the address is signed with the credentials of this function, whose permissions it needs. */
export const presign = (client: S3Client, command: GetObjectCommand | PutObjectCommand): Promise<string> =>
  getSignedUrl(client, command, { expiresIn: seconds });
