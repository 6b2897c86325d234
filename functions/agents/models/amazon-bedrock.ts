import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';

/**
 * Imported at the first call of a Bedrock model. The package adds half to the code that a reply loads otherwise, and
 * many stages use no Bedrock models.
 */
export const makeProvider = createAmazonBedrock;
